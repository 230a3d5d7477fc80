"""Configured secrets: the model writes `{{secret:NAME}}`, the tool gets the value, at execution.

The log, the approval card and the decision see the name. A shell command gets the value by its
environment, so that it stands on no command line.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.errors import ToolError, suggest
from bridle.gate.shell_secrets import refer
from bridle.journal.redact import MARK
from bridle.permissions.hosts import host_allowed
from bridle.permissions.patterns import canonical
from bridle.types.base import Fixed
from bridle.types.regex import lazy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from bridle.ports.tools import CallScope, Outcome, Toolbox
    from bridle.types.content import ToolCall
    from bridle.types.secrets import Secret
    from bridle.types.tools import CallFacts, ToolSpec

VARIABLE = "BRIDLE_SECRET_"
DEFAULT_TOOLS = ("bash",)
_PLACEHOLDER = lazy(r"\{\{secret:([^{}\s]{1,200})\}\}")
_TEXT_CATEGORIES = frozenset({"read", "edit"})
"""For tools of these, a placeholder that names nothing is a text like any other."""


class SecretTools(Fixed, frozen=True, kw_only=True):
    """A toolbox whose calls may name secrets."""

    tools: Toolbox
    secrets: Mapping[str, Secret]

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """What the model is told."""
        return self.tools.specs

    def describe(self, call: ToolCall) -> CallFacts:
        """Describe a call by the names in it; one that may not have them cannot run."""
        facts = self.tools.describe(call)
        if facts.problem is not None:
            return facts
        problem = self._problem(call, facts)
        if problem is None:
            return facts
        return msgspec.structs.replace(facts, problem=problem, problem_kind="secret")

    async def execute(self, call: ToolCall, scope: CallScope) -> Outcome:
        """Run a call with its secrets put in."""
        names = sorted(_names(call.args) & self.secrets.keys())
        if not names:
            return await self.tools.execute(call, scope)
        if canonical(call.tool) == "bash":
            call, scope = self._shell(call, scope, names)
        else:
            call = self._filled(call)
        return await self.tools.execute(call, scope)

    def _problem(self, call: ToolCall, facts: CallFacts) -> str | None:
        if facts.category in ("edit", "execute") and (found := _mark(call.args)) is not None:
            return (
                f"The arguments hold {found}: a secret was taken out there, and nobody here has "
                f"it. {call.tool} was not run.\nHint: Leave that part of the file as it is, or "
                "name a configured secret as {{secret:NAME}}."
            )
        for name in sorted(_names(call.args)):
            secret = self.secrets.get(name)
            if secret is None and facts.category in _TEXT_CATEGORIES:
                continue
            if secret is None:
                known = suggest(name, self.secrets, what="secret")
                return f"{known}\nHint: Write {{{{secret:NAME}}}} with the name of one of them."
            if not _may_have(secret, call, facts):
                return _refusal(name, secret, call)
        if canonical(call.tool) == "bash":
            return _unreferable(call)
        return None

    def _shell(
        self, call: ToolCall, scope: CallScope, names: list[str]
    ) -> tuple[ToolCall, CallScope]:
        variables = {f"{VARIABLE}{i}": self.secrets[name].value for i, name in enumerate(names)}
        by_name = dict(zip(names, variables, strict=True))
        command = refer(str(call.args["command"]), by_name)
        args = {**call.args, "command": command}
        return (
            msgspec.structs.replace(call, args=args),
            msgspec.structs.replace(scope, secrets=variables),
        )

    def _filled(self, call: ToolCall) -> ToolCall:
        def put_in(text: str) -> str:
            return _PLACEHOLDER.sub(
                lambda m: self.secrets[m[1]].value if m[1] in self.secrets else m[0], text
            )

        filled = msgspec.structs.replace(call, args=_mapped(call.args, put_in))
        before, after = self.tools.describe(call), self.tools.describe(filled)
        if (before.paths, before.hosts) != (after.paths, after.hosts):
            raise ToolError(
                "A secret may not change which files or hosts a call touches.", kind="secret"
            )
        return filled


def told(secrets: Mapping[str, Secret]) -> str:
    """What the model is told of the secrets: their names, and for whom they are."""
    if not secrets:
        return ""
    lines = [f"- {{{{secret:{name}}}}} for {_for_whom(secret)}" for name, secret in secrets.items()]
    first = "Secrets: write the placeholder; the value is put in when the call runs."
    return "\n\n" + "\n".join((first, *lines))


def _names(args: dict[str, Any]) -> set[str]:
    return {name for text in _texts(args) for name in _PLACEHOLDER.findall(text)}


def _mark(args: dict[str, Any]) -> str | None:
    return next((found[0] for text in _texts(args) if (found := MARK.search(text))), None)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _mapped(inner, change) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_mapped(inner, change) for inner in value]
    return value


def _may_have(secret: Secret, call: ToolCall, facts: CallFacts) -> bool:
    tools = secret.tools or (("*",) if secret.hosts else DEFAULT_TOOLS)
    if not any(fnmatchcase(canonical(call.tool), canonical(glob)) for glob in tools):
        return False
    if not secret.hosts:
        return True
    return bool(facts.hosts) and all(host_allowed(host, secret.hosts) for host in facts.hosts)


def _for_whom(secret: Secret) -> str:
    if not secret.hosts:
        return ", ".join(secret.tools or DEFAULT_TOOLS)
    hosts = f"calls to {', '.join(secret.hosts)}"
    return f"{', '.join(secret.tools)}, in {hosts}" if secret.tools else hosts


def _refusal(name: str, secret: Secret, call: ToolCall) -> str:
    return (
        f"{call.tool} may not have the secret {name}: it is for {_for_whom(secret)}.\n"
        "Hint: A secret is not written into files; let the program read it when it runs."
    )


def _unreferable(call: ToolCall) -> str | None:
    command = call.args.get("command")
    names = _names({"command": command})
    if len(names) < len(_names(call.args)):
        return "A secret can stand in the command only, not in other arguments of bash."
    try:
        refer(str(command), dict.fromkeys(names, "X"))
    except ToolError as error:
        return f"{error.message}\nHint: {error.hint}"
    return None
