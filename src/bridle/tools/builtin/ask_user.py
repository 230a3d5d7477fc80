"""Ask the user something: free text, one of some options, or several of them."""

from __future__ import annotations

from typing import Any, Literal

from bridle.errors import ToolError
from bridle.ports.tools import Suspended
from bridle.tools.define import Tool, ToolContext, tool
from bridle.types.events import QuestionOption
from bridle.types.ids import derive_id


def ask_user_tool() -> Tool:
    """Build the tool."""

    @tool(name="ask_user", category="other", concurrency_safe=True, effect="keyed", asks_user=True)
    async def ask_user(
        question: str,
        ctx: ToolContext[Any],
        options: list[QuestionOption | str] | None = None,
        selection_mode: Literal["single_select", "multi_select"] | None = None,
    ) -> Suspended:
        """Ask the user a question and wait for the answer; give options to choose from if any."""
        if not question.strip():
            raise ToolError("The question is empty.")
        if selection_mode is not None and not options:
            raise ToolError("selection_mode needs options to select from.")
        choices = [QuestionOption(label=o) if isinstance(o, str) else o for o in options or ()]
        labels = [choice.label for choice in choices]
        if len(set(labels)) != len(labels):
            raise ToolError("Two options have the same label.")
        return Suspended(
            id=derive_id("qst", ctx.call_id),
            kind="question",
            payload={
                "question": question,
                "options": [
                    {"label": choice.label, "description": choice.description} for choice in choices
                ],
                "selection_mode": (selection_mode or "single_select") if options else None,
            },
        )

    return ask_user
