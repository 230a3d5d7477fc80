"""Bridle: the agent harness for Python.

Public names are resolved when they are first used, so importing the package costs nothing.
"""

from bridle._version import __version__

TYPE_CHECKING = False  # as in typing, which would cost a third of `bridle --version`
if TYPE_CHECKING:
    from bridle.app.config import Agent, Heartbeat, Mode, Ports, RequestContext
    from bridle.app.content import FileInput
    from bridle.app.display import DisplaySnapshot
    from bridle.app.harness import Harness
    from bridle.app.results import Pending, RunResult
    from bridle.app.run import Run
    from bridle.app.session import Session
    from bridle.app.workspace import Workspace
    from bridle.delegation.kinds import Subagent
    from bridle.errors import BridleError, ModelError, RunError, ToolError, UserError
    from bridle.hooks.define import Hook, HookContext, HookResult
    from bridle.ports.tools import Suspended
    from bridle.tools.builtin.names import BUILTIN_TOOLS
    from bridle.tools.define import Tool, ToolContext, tool
    from bridle.types.agents import SubagentMeta, parse_subagent_meta
    from bridle.types.events.base import Event
    from bridle.types.limits import Limits
    from bridle.types.messages import Message
    from bridle.types.permissions import Rules
    from bridle.types.secrets import Secret
    from bridle.types.tasks import Task
    from bridle.types.threads import Thread
    from bridle.types.tools import CATEGORIES
    from bridle.types.usage import Usage

_HOMES = {
    "Event": "bridle.types.events.base",
    "Usage": "bridle.types.usage",
    "DisplaySnapshot": "bridle.app.display",
    "Task": "bridle.types.tasks",
    "Message": "bridle.types.messages",
    "Thread": "bridle.types.threads",
    "BUILTIN_TOOLS": "bridle.tools.builtin.names",
    "CATEGORIES": "bridle.types.tools",
    "Agent": "bridle.app.config",
    "FileInput": "bridle.app.content",
    "Heartbeat": "bridle.app.config",
    "Mode": "bridle.app.config",
    "Ports": "bridle.app.config",
    "RequestContext": "bridle.app.config",
    "Rules": "bridle.types.permissions",
    "Harness": "bridle.app.harness",
    "Pending": "bridle.app.results",
    "RunResult": "bridle.app.results",
    "Run": "bridle.app.run",
    "Session": "bridle.app.session",
    "Workspace": "bridle.app.workspace",
    "Subagent": "bridle.delegation.kinds",
    "SubagentMeta": "bridle.types.agents",
    "parse_subagent_meta": "bridle.types.agents",
    "BridleError": "bridle.errors",
    "ModelError": "bridle.errors",
    "RunError": "bridle.errors",
    "ToolError": "bridle.errors",
    "UserError": "bridle.errors",
    "Hook": "bridle.hooks.define",
    "HookContext": "bridle.hooks.define",
    "HookResult": "bridle.hooks.define",
    "Suspended": "bridle.ports.tools",
    "Tool": "bridle.tools.define",
    "ToolContext": "bridle.tools.define",
    "tool": "bridle.tools.define",
    "Limits": "bridle.types.limits",
    "Secret": "bridle.types.secrets",
}

__all__ = [
    "BUILTIN_TOOLS",
    "CATEGORIES",
    "Agent",
    "BridleError",
    "DisplaySnapshot",
    "Event",
    "FileInput",
    "Harness",
    "Heartbeat",
    "Hook",
    "HookContext",
    "HookResult",
    "Limits",
    "Message",
    "Mode",
    "ModelError",
    "Pending",
    "Ports",
    "RequestContext",
    "Rules",
    "Run",
    "RunError",
    "RunResult",
    "Secret",
    "Session",
    "Subagent",
    "SubagentMeta",
    "Suspended",
    "Task",
    "Thread",
    "Tool",
    "ToolContext",
    "ToolError",
    "Usage",
    "UserError",
    "Workspace",
    "__version__",
    "parse_subagent_meta",
    "tool",
]


def __getattr__(name: str) -> object:
    import importlib

    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'bridle' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
