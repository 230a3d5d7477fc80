"""Events that are shown while they happen and not stored."""

from bridle.types.events.base import LiveEvent


class MessageDelta(LiveEvent, frozen=True, kw_only=True, tag="message_update"):
    """More of the message that is being written; `kind` is text or thinking."""

    message_id: str
    delta: str
    kind: str = "text"


class SubagentTextDelta(LiveEvent, frozen=True, kw_only=True, tag="subagent_text_delta"):
    """More of what a child of this thread is saying."""

    call_id: str
    agent_type: str
    delta: str


class ToolInputStarted(LiveEvent, frozen=True, kw_only=True, tag="tool_input_start"):
    """The model begins to write the arguments of a call."""

    call_id: str
    tool: str


class ToolInputDelta(LiveEvent, frozen=True, kw_only=True, tag="tool_input_delta"):
    """More of the arguments of a call."""

    call_id: str
    delta: str


class ToolInputEnded(LiveEvent, frozen=True, kw_only=True, tag="tool_input_end"):
    """The arguments of a call are complete."""

    call_id: str


class ToolProgress(LiveEvent, frozen=True, kw_only=True, tag="tool_update"):
    """What a running tool says of its progress."""

    call_id: str
    text: str


class ShellOutput(LiveEvent, frozen=True, kw_only=True, tag="shell_output"):
    """Output of a running command."""

    call_id: str
    stream: str
    text: str


class DisplayStateChanged(LiveEvent, frozen=True, kw_only=True, tag="display_state_changed"):
    """There is something else to show: `session.display` has it. Only a session tells this."""
