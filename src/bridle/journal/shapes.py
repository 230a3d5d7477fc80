"""What secrets look like: the forms of keys that services hand out.

Every shape has anchors, texts that it cannot do without: where none of them stands in a text, its
expression is never run. That keeps ordinary output cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.types.base import Fixed
from bridle.types.regex import lazy

if TYPE_CHECKING:
    import re

_START = r"(?<![A-Za-z0-9_])"
_END = r"(?![A-Za-z0-9_-])"


class Shape(Fixed, frozen=True):
    """One form. The group `secret`, where there is one, is the part that is hidden.

    `back` is how far before its anchor a match may begin.
    """

    name: str
    anchors: tuple[str, ...]
    expression: re.Pattern[str]
    back: int = 0

    def find(self, text: str, at: int, after: int) -> tuple[int, int] | None:
        """What to hide at an anchor's place, not before `after`."""
        for start in range(max(after, at - self.back), at + 1):
            found = self.expression.match(text, start)
            if found is None or found.end() <= at:
                continue
            if self.name == "private-key":
                return start, _end_of_key(text, found.end())
            return found.span("secret" if "secret" in found.re.groupindex else 0)
        return None


def _end_of_key(text: str, begun: int) -> int:
    at = text.find("-----END ", begun, begun + _LONGEST_KEY)
    found = _KEY_END.match(text, at) if at >= 0 else None
    return begun if found is None else found.end()


def _token(name: str, anchors: tuple[str, ...], pattern: str) -> Shape:
    return Shape(name, anchors, lazy(f"{_START}{pattern}{_END}"))


_KEY_BEGIN = lazy(
    r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:[^\S\n]*(?:\\n|\n)?[^\S\n]*(?:\d+[→:|\-\t ]\s?)?[A-Za-z0-9+/=]{16,76})*"
)
"""A block as far as there are lines of key, for where its end was cut off."""

_KEY_END = lazy(r"-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_LONGEST_KEY = 20_000

SHAPES: tuple[Shape, ...] = (
    Shape("private-key", ("PRIVATE KEY",), _KEY_BEGIN, 40),
    _token("aws-access-key", ("AKIA", "ASIA", "ABIA", "ACCA"), r"A(?:KIA|SIA|BIA|CCA)[A-Z2-7]{16}"),
    Shape(
        "aws-secret-key",
        ("secret_access_key", "SECRET_ACCESS_KEY", "SecretAccessKey", "secretAccessKey"),
        lazy(
            r"(?i:secret_?access_?key)[\"']?\s{0,3}[:=]\s{0,3}[\"']?"
            r"(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"
        ),
    ),
    _token("anthropic-key", ("sk-ant-",), r"sk-ant-[A-Za-z0-9_-]{20,200}"),
    _token("openai-key", ("sk-proj-", "sk-svcacct-", "sk-admin-"),
           r"sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,240}"),
    _token("openrouter-key", ("sk-or-",), r"sk-or-(?:v\d-)?[A-Za-z0-9]{32,128}"),
    _token("api-key", ("sk-",), r"sk-(?=[A-Za-z]{0,60}[0-9])[A-Za-z0-9]{32,64}"),
    _token("google-key", ("AIza",), r"AIza[A-Za-z0-9_-]{35}"),
    _token("google-oauth-secret", ("GOCSPX-",), r"GOCSPX-[A-Za-z0-9_-]{20,40}"),
    _token("google-oauth-token", ("ya29.",), r"ya29\.[A-Za-z0-9_-]{20,400}"),
    _token("github-token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
           r"gh[pousr]_[A-Za-z0-9]{36,255}"),
    _token("github-token", ("github_pat_",), r"github_pat_[A-Za-z0-9_]{36,255}"),
    _token("gitlab-token", ("glpat-", "gldt-", "glrt-"), r"gl(?:pat|dt|rt)-[A-Za-z0-9_-]{20,64}"),
    _token("slack-token", ("xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe", "xapp-"),
           r"(?:xox[abeprs]|xapp)(?:\.xox[bp])?-[A-Za-z0-9-]{10,250}"),
    Shape("slack-webhook", ("hooks.slack.com/",),
          lazy(r"hooks\.slack\.com/(?:services|workflows)/(?P<secret>[A-Za-z0-9/+_-]{20,120})")),
    _token("stripe-key", ("sk_live_", "rk_live_", "sk_test_", "rk_test_", "whsec_"),
           r"(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9]{16,247}"),
    _token("sendgrid-key", ("SG.",), r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}"),
    _token("npm-token", ("npm_",), r"npm_[A-Za-z0-9]{36}"),
    _token("pypi-token", ("pypi-",), r"pypi-AgE[A-Za-z0-9_-]{50,500}"),
    _token("hugging-face-token", ("hf_",), r"hf_[A-Za-z0-9]{30,60}"),
    _token("groq-key", ("gsk_",), r"gsk_[A-Za-z0-9]{40,64}"),
    _token("xai-key", ("xai-",), r"xai-[A-Za-z0-9]{60,100}"),
    _token("perplexity-key", ("pplx-",), r"pplx-[A-Za-z0-9]{40,64}"),
    _token("replicate-token", ("r8_",), r"r8_[A-Za-z0-9]{37}"),
    _token("digitalocean-token", ("dop_v1_", "doo_v1_", "dor_v1_"), r"do[opr]_v1_[a-f0-9]{64}"),
    _token("shopify-token", ("shpat_", "shpss_", "shpca_", "shppa_"),
           r"shp(?:at|ss|ca|pa)_[a-fA-F0-9]{32}"),
    _token("vault-token", ("hvs.", "hvb."), r"hv[sb]\.[A-Za-z0-9_-]{24,200}"),
    _token("databricks-token", ("dapi",), r"dapi[a-f0-9]{32}"),
    _token("linear-key", ("lin_api_",), r"lin_api_[A-Za-z0-9]{32,64}"),
    Shape("telegram-token", (":AA",),
          lazy(r"(?<![A-Za-z0-9_:])\d{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])"), 10),
    Shape("azure-key", ("AccountKey=", "SharedAccessKey="),
          lazy(r"(?:Account|SharedAccess)Key=(?P<secret>[A-Za-z0-9+/]{40,90}={0,2})")),
    _token("jwt", ("eyJ",),
           r"eyJ[A-Za-z0-9_-]{8,2000}\.eyJ[A-Za-z0-9_-]{8,8000}(?:\.[A-Za-z0-9_-]{8,2000})?"),
    Shape("authorization", ("earer ", "asic "),
          lazy(r"(?<![A-Za-z])(?:[Bb]earer|[Bb]asic) (?=[^\s\"']{0,100}[0-9])"
               r"(?P<secret>[A-Za-z0-9+/._~-]{20,2000}={0,2})(?![A-Za-z0-9+/._~=(-])"), 1),
    Shape("url-password", ("://",),
          lazy(r"://[^\s/:@\"'<>{}$\[\]()]{0,100}:(?!//)"
               r"(?P<secret>(?!(?i:pass|passwd|password|pwd|pw|secret|token|xxx+|\*+|\.\.\.)@)"
               r"[^\s/:@\"'<>{}$\[\]()*,`]{3,200})@(?=[A-Za-z0-9\[])")),
    Shape("url-token",
          ("token=", "key=", "sig=", "signature=", "secret=", "Signature=", "password="),
          lazy(r"(?<=[?&;])(?i:access_token|auth_token|id_token|refresh_token|token|api_?key|key"
               r"|sig|signature|client_secret|secret|password|x-amz-signature)="
               r"(?=[^&\s]{0,64}[0-9])(?P<secret>[A-Za-z0-9._~%+/-]{16,2000}={0,2})"), 24),
)  # fmt: skip


ANCHORS = tuple((anchor, shape) for shape in SHAPES for anchor in shape.anchors)
SPACED = tuple(anchor for anchor, _ in ANCHORS if " " in anchor)
SHORTEST = 12
"""No word with a secret in it is shorter, except after an anchor with a space."""


def _openings() -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for shape in SHAPES:
        for anchor in shape.anchors:
            for text in (anchor, "B" + anchor, "b" + anchor) if shape.back == 1 else (anchor,):
                found.setdefault(text[0], []).append(text)
    found.setdefault("-", []).append("-----BEGIN ")
    return {first: tuple(texts) for first, texts in found.items()}


OPENINGS = _openings()
"""How shapes may begin, by the first character."""
