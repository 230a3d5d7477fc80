"""One vocabulary for log, stream, user interface and export, and its one codec."""

import msgspec

from bridle.types.events.base import Event, LiveEvent
from bridle.types.events.files import CheckpointTaken, ConversationRewound, FilesRestored
from bridle.types.events.hook import HookRan
from bridle.types.events.host import (
    HeartbeatChanged,
    WorkspaceFailed,
    WorkspaceReady,
    WorkspaceStatusChanged,
)
from bridle.types.events.live import (
    DisplayStateChanged,
    MessageDelta,
    ShellOutput,
    SubagentTextDelta,
    ToolInputDelta,
    ToolInputEnded,
    ToolInputStarted,
    ToolProgress,
)
from bridle.types.events.message import (
    BudgetExhausted,
    BudgetReserved,
    BudgetSettled,
    MessageEnded,
    MessageStarted,
    ModelFellBack,
    ModelRetried,
    Recipe,
    TextRetracted,
    UsageUpdated,
)
from bridle.types.events.run import (
    CheckEnded,
    CheckStarted,
    ErrorRaised,
    Noted,
    RunEnded,
    RunPaused,
    RunResumed,
    RunStarted,
    Waiting,
)
from bridle.types.events.session import (
    ModeChanged,
    ModelChanged,
    PlanApproved,
    PlanRejected,
    PlanSubmitted,
    PrefixBroken,
    QuestionAnswered,
    QuestionAsked,
    QuestionOption,
    StateChanged,
    SubagentModelChanged,
    TasksUpdated,
)
from bridle.types.events.thread import (
    FollowUpQueued,
    InputAdmitted,
    LeaseTaken,
    PermissionGranted,
    SettingsChanged,
    ThreadChanged,
    ThreadCreated,
    ThreadDeleted,
    ThreadRenamed,
)
from bridle.types.events.tool import (
    ApprovalAnswered,
    ApprovalRequired,
    CallSuspended,
    PermissionDecided,
    SubagentEnded,
    SubagentStarted,
    SubagentToolEnded,
    SubagentToolStarted,
    ToolCalled,
    ToolReturned,
)

DurableEvent = (
    ThreadCreated
    | ThreadChanged
    | ThreadRenamed
    | ThreadDeleted
    | SettingsChanged
    | InputAdmitted
    | FollowUpQueued
    | LeaseTaken
    | PermissionGranted
    | RunStarted
    | RunPaused
    | RunResumed
    | RunEnded
    | ErrorRaised
    | Noted
    | CheckStarted
    | CheckEnded
    | MessageStarted
    | MessageEnded
    | UsageUpdated
    | BudgetReserved
    | BudgetSettled
    | BudgetExhausted
    | ModelRetried
    | ModelFellBack
    | TextRetracted
    | ToolCalled
    | PermissionDecided
    | ApprovalRequired
    | ApprovalAnswered
    | CallSuspended
    | ToolReturned
    | SubagentStarted
    | SubagentEnded
    | SubagentToolStarted
    | SubagentToolEnded
    | HookRan
    | CheckpointTaken
    | FilesRestored
    | ConversationRewound
    | ModeChanged
    | ModelChanged
    | PrefixBroken
    | QuestionAsked
    | QuestionAnswered
    | PlanSubmitted
    | PlanApproved
    | PlanRejected
    | TasksUpdated
    | StateChanged
    | SubagentModelChanged
    | WorkspaceStatusChanged
    | WorkspaceReady
    | WorkspaceFailed
    | HeartbeatChanged
)
AnyLiveEvent = (
    MessageDelta
    | SubagentTextDelta
    | ToolInputStarted
    | ToolInputDelta
    | ToolInputEnded
    | ToolProgress
    | ShellOutput
    | DisplayStateChanged
)
AnyEvent = DurableEvent | AnyLiveEvent

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[DurableEvent] = msgspec.json.Decoder(DurableEvent)


def encode_event(event: Event | LiveEvent) -> bytes:
    """Write an event as one JSON object, the form of the log and of every stream."""
    return _encoder.encode(event)


def decode_event(body: bytes) -> DurableEvent:
    """Read a durable event back; the inverse of `encode_event`."""
    return _decoder.decode(body)


__all__ = [
    "AnyEvent",
    "AnyLiveEvent",
    "ApprovalAnswered",
    "ApprovalRequired",
    "BudgetExhausted",
    "BudgetReserved",
    "BudgetSettled",
    "CallSuspended",
    "CheckEnded",
    "CheckStarted",
    "CheckpointTaken",
    "ConversationRewound",
    "DisplayStateChanged",
    "DurableEvent",
    "ErrorRaised",
    "Event",
    "FilesRestored",
    "FollowUpQueued",
    "HeartbeatChanged",
    "HookRan",
    "InputAdmitted",
    "LeaseTaken",
    "LiveEvent",
    "MessageDelta",
    "MessageEnded",
    "MessageStarted",
    "ModeChanged",
    "ModelChanged",
    "ModelFellBack",
    "ModelRetried",
    "Noted",
    "PermissionDecided",
    "PermissionGranted",
    "PlanApproved",
    "PlanRejected",
    "PlanSubmitted",
    "PrefixBroken",
    "QuestionAnswered",
    "QuestionAsked",
    "QuestionOption",
    "Recipe",
    "RunEnded",
    "RunPaused",
    "RunResumed",
    "RunStarted",
    "SettingsChanged",
    "ShellOutput",
    "StateChanged",
    "SubagentEnded",
    "SubagentModelChanged",
    "SubagentStarted",
    "SubagentTextDelta",
    "SubagentToolEnded",
    "SubagentToolStarted",
    "TasksUpdated",
    "TextRetracted",
    "ThreadChanged",
    "ThreadCreated",
    "ThreadDeleted",
    "ThreadRenamed",
    "ToolCalled",
    "ToolInputDelta",
    "ToolInputEnded",
    "ToolInputStarted",
    "ToolProgress",
    "ToolReturned",
    "UsageUpdated",
    "Waiting",
    "WorkspaceFailed",
    "WorkspaceReady",
    "WorkspaceStatusChanged",
    "decode_event",
    "encode_event",
]
