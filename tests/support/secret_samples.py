"""Made-up keys in the forms that services hand out, in parts, so that no scanner objects."""

from __future__ import annotations

MIXED = "a1B2c3D4e5"

JWT = ".".join(
    (
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9",
        "eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkEifQ",
        "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
    )
)


def private_key(kind: str = "RSA ") -> str:
    body = "\n".join("MIIEpAIBAAKCAQEA" + MIXED * 4 + str(n) * 8 for n in range(8))
    return f"-----BEGIN {kind}PRIVATE KEY-----\n{body}\n-----END {kind}PRIVATE KEY-----"


SAMPLES: dict[str, tuple[str, str]] = {
    "aws-access-key": ("AKIA" + "IOSFODNN7EXAMPLE", "AKIA" + "IOSFODNN7EXAMPLE"),
    "aws-secret-key": ("aws_secret_access_key = " + "wJalrXUtnF/" + MIXED * 2 + "EMIK7MDEN",
                       "wJalrXUtnF/" + MIXED * 2 + "EMIK7MDEN"),
    "anthropic-key": ("sk-" + "ant-api03-" + MIXED * 6, "sk-" + "ant-api03-" + MIXED * 6),
    "openai-key": ("sk-" + "proj-" + MIXED * 5, "sk-" + "proj-" + MIXED * 5),
    "openrouter-key": ("sk-" + "or-v1-" + MIXED * 6, "sk-" + "or-v1-" + MIXED * 6),
    "api-key": ("sk-" + MIXED * 4, "sk-" + MIXED * 4),
    "google-key": ("AIza" + MIXED * 3 + "abcde", "AIza" + MIXED * 3 + "abcde"),
    "google-oauth-token": ("ya29." + MIXED * 4, "ya29." + MIXED * 4),
    "github-token": ("ghp" + "_" + MIXED * 3 + "abcdef", "ghp" + "_" + MIXED * 3 + "abcdef"),
    "gitlab-token": ("glpat" + "-" + MIXED * 2, "glpat" + "-" + MIXED * 2),
    "slack-token": ("xoxb" + "-123456789012-" + MIXED, "xoxb" + "-123456789012-" + MIXED),
    "stripe-key": ("sk_" + "live_" + MIXED * 3, "sk_" + "live_" + MIXED * 3),
    "sendgrid-key": ("SG." + MIXED * 2 + "." + MIXED * 4, "SG." + MIXED * 2 + "." + MIXED * 4),
    "npm-token": ("npm" + "_" + MIXED * 3 + "abcdef", "npm" + "_" + MIXED * 3 + "abcdef"),
    "hugging-face-token": ("hf" + "_" + MIXED * 3 + "abcd", "hf" + "_" + MIXED * 3 + "abcd"),
    "jwt": (JWT, JWT),
    "private-key": (private_key(), "MIIEpAIBAAKCAQEA" + MIXED),
    "authorization": ("Authorization: Bearer " + MIXED * 3, MIXED * 3),
    "url-password": ("postgres://bob:" + MIXED + "@db.example/x", MIXED),
    "url-token": ("https://h.example/?access_token=" + MIXED * 2 + "&page=1", MIXED * 2),
    "telegram-token": ("1234567890:" + "AA" + MIXED * 3 + "abc", "AA" + MIXED * 3 + "abc"),
    "azure-key": ("AccountName=x;AccountKey=" + MIXED * 8 + "==", MIXED * 8),
}  # fmt: skip
"""By the name of the shape: a text that holds a key, and the part of it that must go."""
