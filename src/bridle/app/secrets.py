"""Which secrets a harness has, and everything that is hidden: from the user, the environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.errors import ConfigError
from bridle.journal.redact import (
    NOTHING_HIDDEN,
    VARIABLE,
    Known,
    Redactor,
    expression,
    forms,
    in_order,
    mark,
)
from bridle.types.regex import lazy
from bridle.types.secrets import PLACEHOLDER, Secret

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

GIVEN = "BRIDLE_SECRET_"
SHORTEST = 6
_NAME = lazy(r"[A-Za-z][A-Za-z0-9_.-]{0,99}")
_TELLING = lazy(
    r"(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PWD|CREDENTIALS?|PAT)(?:_|$)"
)
_SHORTEST_FOUND = 8
_PLAIN = lazy(r"(?:/|\./|~|https?://[^@]*$|\d+$)")


def configured(
    given: Mapping[str, str | Secret] | None, environ: Mapping[str, str]
) -> dict[str, Secret]:
    """The secrets that tools may be given: those handed over, and `BRIDLE_SECRET_NAME`."""
    found = {
        name.removeprefix(GIVEN): Secret(value)
        for name, value in environ.items()
        if name.startswith(GIVEN) and value
    }
    for name, value in (given or {}).items():
        found[name] = value if isinstance(value, Secret) else Secret(value)
    for name, secret in found.items():
        if _NAME.fullmatch(name) is None:
            raise ConfigError(
                f"{name!r} cannot be the name of a secret; use letters, digits, '_', '-' and '.'."
            )
        if len(secret.value) < SHORTEST:
            raise ConfigError(
                f"The secret {name} is too short to be hidden: it has {len(secret.value)} "
                f"characters, and {SHORTEST} are needed."
            )
    return found


def hiding(
    secrets: Mapping[str, Secret], redact: Sequence[str] | None, environ: Mapping[str, str]
) -> Redactor:
    """Everything that is taken out of texts; None as `redact` hides the configured ones only."""
    known = [
        entry for name, secret in secrets.items()
        for entry in forms(secret.value, PLACEHOLDER % name)
    ]  # fmt: skip
    if redact is None:
        return Redactor(known=in_order(known), shapes=False) if known else NOTHING_HIDDEN
    variables = [entry for entry in redact if VARIABLE.fullmatch(entry)]
    known += _of_environment(environ, variables)
    return Redactor(
        known=in_order(known),
        expressions=tuple(expression(entry) for entry in redact if entry not in variables),
    )


def hidden_by_environment(text: str) -> str:
    """A text for the terminal without what the environment says is secret."""
    import os

    try:
        secrets = configured(None, os.environ)
    except ConfigError:  # the error that is being told is perhaps this one
        secrets = {}
    return hiding(secrets, (), os.environ).text(text)


def _of_environment(environ: Mapping[str, str], named: Sequence[str]) -> Iterator[Known]:
    """The values of variables that are named, or whose names say that they are secret."""
    for name, value in environ.items():
        if name in named and len(value) >= SHORTEST:
            yield from forms(value, mark(name))
        elif (
            len(value) >= _SHORTEST_FOUND
            and _TELLING.search(name.upper())
            and _PLAIN.match(value) is None
            and not name.startswith(GIVEN)
        ):
            yield Known(value, mark(name))
