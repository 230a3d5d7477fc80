"""The task list that an agent keeps."""

from typing import Literal

import msgspec

TaskStatus = Literal["pending", "in_progress", "completed"]


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to do; `active_form` is how it reads while it is being done."""

    id: str
    content: str
    status: TaskStatus = "pending"
    active_form: str = ""
