"""What may run the loop."""

from __future__ import annotations

from bridle.errors import UserError, suggest

BUILTIN = "builtin"
PLANNED = ("adk", "openai-agents", "codex-sdk", "claude-agent-sdk", "deepagents", "pydanticai")


def check_backend(name: str) -> None:
    """Refuse a backend that this version cannot run, rather than run another one."""
    if name == BUILTIN:
        return
    if name in PLANNED or ":" in name:
        raise UserError(f"The backend {name!r} is not available in this version; have {BUILTIN}.")
    raise UserError(suggest(name, (BUILTIN,), what="backend"))
