"""The approval card: what a call would do, and exactly what "always" would allow.

Everything on it is shown to a person, so what could mislead the eye is written out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from bridle.permissions.call import prepare
from bridle.permissions.evaluate import evaluate
from bridle.permissions.suggest import always_patterns
from bridle.types.permissions import Grants
from bridle.types.regex import lazy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bridle.permissions.call import Call
    from bridle.permissions.parts import Part
    from bridle.types.permissions import Decision, Policy
    from bridle.types.tools import CallFacts

_MAX_LINES = 60
_MAX_TEXT = 4000
_HOST = lazy(r"(?:[A-Za-z][A-Za-z0-9+.-]*://(?:[^/@\s]*@)?|^[\w.-]+@)(\[[^\]]+\]|[\w.-]+)")
"""The host of a URL, or of `user@host`."""
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


class Always(msgspec.Struct, frozen=True, omit_defaults=True):
    """One way to answer "always": what it grants for the session, and what that matches."""

    scope: str
    grants: tuple[str, ...]
    matches: str


class Card(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a person sees before they answer."""

    tool: str
    title: str
    reversible: bool
    reason: str | None = None
    rule: str | None = None
    command: str | None = None
    commands: tuple[str, ...] = ()
    unnamed: tuple[str, ...] = ()
    diff: str | None = None
    files: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    cost_usd: float | None = None
    undo: str = ""
    always: tuple[Always, ...] = ()


def shown(text: str, *, lines: bool = False) -> str:
    """The text with everything invisible or misleading written out; lines may stay lines."""
    import unicodedata

    parts: list[str] = []
    for char in text:
        if lines and char in "\n\t":
            parts.append(char)
        elif unicodedata.category(char) in _HIDDEN or (char.isspace() and char != " "):
            code = ord(char)
            short = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(char)
            parts.append(short or (f"\\x{code:02x}" if code < 256 else f"\\u{{{code:x}}}"))
        else:
            parts.append(char)
    return "".join(parts)


def card(
    tool: str,
    facts: CallFacts,
    decision: Decision,
    policy: Policy,
    *,
    before: str | None = None,
) -> Card:
    """The card of a call; `before` is what the file holds now, where the call changes one."""
    call = prepare(tool, facts, policy, Grants())
    command = call.command
    reversible, undo = _undo(call)
    return Card(
        tool=shown(call.tool),
        title=_title(call),
        reason=shown(decision.reason) if decision.reason else None,
        rule=decision.rule,
        command=_cut(shown(command, lines=True)) if command is not None else None,
        commands=_commands(call),
        unnamed=tuple(shown(part.text) for part in _parts(call, "unnamed")),
        diff=_diff(call, before),
        files=_files(call),
        hosts=tuple(shown(host) for host in _hosts(call)),
        cost_usd=facts.cost_usd,
        reversible=reversible,
        undo=undo,
        always=_always(call),
    )


def _parts(call: Call, *kinds: str) -> list[Part]:
    return [part for part in call.shell.parts if part.kind in kinds] if call.shell else []


def _title(call: Call) -> str:
    if call.tool == "request_permission":
        args = call.facts.args or {}
        what = next((args[key] for key in ("tool", "category", "pattern") if args.get(key)), "")
        return shown(f"allow {what} for this session: {args.get('reason', '')}")[:200]
    if call.command is not None:
        names = [part.command.name for part in _parts(call, "command") if part.command]
        return shown("run " + (", ".join(dict.fromkeys(names)) or "a command"))[:120]
    if call.facts.paths:
        verb = "change" if call.writes() else "read"
        return shown(f"{verb} {', '.join(call.facts.paths)}")[:120]
    if call.facts.hosts:
        return shown(f"reach {', '.join(call.facts.hosts)}")[:120]
    given = msgspec.json.encode(call.facts.args or {}).decode()
    return shown(f"call {call.tool} {given}" if call.facts.args else f"call {call.tool}")[:120]


def _commands(call: Call) -> tuple[str, ...]:
    return tuple(
        shown(part.text)
        for part in _parts(call, "command")
        if part.command and part.command.role == "command"
    )


def _files(call: Call) -> tuple[str, ...]:
    written = [part.text for part in _parts(call, "write", "read")]
    return tuple(shown(path) for path in dict.fromkeys([*call.facts.paths, *written]))


def _hosts(call: Call) -> tuple[str, ...]:
    """The hosts that a call says it reaches; of a command, those that its words name."""
    commands = call.shell.analysis.commands if call.shell else ()
    texts = [
        text for command in commands for word in command.words[1:] for text in (word.text, word.raw)
    ]
    named = [found[1] for text in texts for found in _HOST.finditer(text)]
    return tuple(dict.fromkeys([*call.facts.hosts, *named]))


def _cut(text: str) -> str:
    if len(text) <= _MAX_TEXT:
        return text
    half = _MAX_TEXT // 2
    return f"{text[:half]}\n… {len(text) - _MAX_TEXT} characters …\n{text[-half:]}"


def _diff(call: Call, before: str | None) -> str | None:
    import difflib

    if call.command is not None:
        return None
    lines: list[str] = []
    for old, new in _changes(call.facts.args or {}, before):
        sides = old.splitlines(), new.splitlines()
        lines += list(difflib.unified_diff(*sides, "before", "after", lineterm=""))[2:]
    if not lines:
        return None
    more = [f"… {len(lines) - _MAX_LINES} more lines"] if len(lines) > _MAX_LINES else []
    return "\n".join([*(shown(line) for line in lines[:_MAX_LINES]), *more])


def _changes(args: dict[str, Any], before: str | None) -> Iterator[tuple[str, str]]:
    """What would become what: the file as a whole where each edit is in it once, else each edit."""
    content = args.get("content")
    if isinstance(content, str):
        yield before or "", content
        return
    edits = args.get("edits")
    given = edits if isinstance(edits, list) else [args]
    pairs = [_pair(edit) for edit in given if isinstance(edit, dict)]
    found = [pair for pair in pairs if pair is not None]
    after = before
    for old, new, everywhere in found:
        times = after.count(old) if after and old else 0
        certain = times == 1 or (everywhere and times > 1)
        after = after.replace(old, new) if after and certain else None
    if found and before is not None and after is not None:
        yield before, after
        return
    yield from ((old, new) for old, new, _ in found)


def _pair(edit: dict[str, Any]) -> tuple[str, str, bool] | None:
    old, new = edit.get("old"), edit.get("new")
    if not isinstance(old, str) or not isinstance(new, str):
        return None
    return old, new, edit.get("replace_all") is True


def _undo(call: Call) -> tuple[bool, str]:
    if call.tool == "request_permission":
        return False, "the grant ends with the session"
    if not call.writes() and call.command is None:
        return True, "it changes nothing"
    if call.category == "edit" and not call.facts.destructive and call.command is None:
        return True, "the files are kept and can be restored"
    if call.facts.hosts:
        return False, "what leaves the machine cannot be taken back"
    if call.command is not None:
        return False, "files of the workspace can be restored, other effects cannot"
    return False, "nothing is known about undoing it"


def _always(call: Call) -> tuple[Always, ...]:
    """The scopes that would really allow this call the next time, each with what it matches."""
    found: list[Always] = []
    patterns = always_patterns(call)
    if patterns and patterns != (call.tool,):
        matches = ", ".join(shown(pattern) for pattern in patterns)
        found.append(Always("pattern", patterns, matches))
    found.append(Always("tool", (call.tool,), f"every call of {call.tool}"))
    found.append(
        Always("category", (call.category,), f"every call of a tool that may {call.category}")
    )
    return tuple(entry for entry in found if _helps(call, entry))


def _helps(call: Call, entry: Always) -> bool:
    values = frozenset(entry.grants)
    grants = {
        "pattern": Grants(patterns=values),
        "tool": Grants(tools=values),
        "category": Grants(categories=values),
    }[entry.scope]
    return evaluate(call.tool, call.facts, call.policy, grants).effect in ("allow", "notify")
