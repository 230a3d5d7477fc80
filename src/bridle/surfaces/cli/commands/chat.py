"""`bridle chat`: a plain conversation over the same session as `run`."""

from __future__ import annotations

from typing import Any

import click

from bridle.surfaces.cli.harness_options import harness_options, options_of


@click.command(epilog="Example: bridle chat --continue")
@click.option("--continue", "resume", is_flag=True, help="Go on with the newest thread here.")
@click.option("--thread", help="Go on with this thread.")
@harness_options
def command(resume: bool, thread: str | None, **flags: Any) -> int:
    """Talk to the agent line by line; it works as with `bridle run`.

    Approvals, questions and plans are asked inline. /help lists what else may be said. Ctrl-C
    stops a turn, Ctrl-D leaves; the thread is kept. Lines may also come from a pipe.
    """
    import msgspec
    from anyio.from_thread import start_blocking_portal

    from bridle.app.coding import build_coding
    from bridle.app.harness import Harness
    from bridle.surfaces.cli.chat import Chat, open_session
    from bridle.surfaces.cli.interact import can_ask, confirm_trust

    options = options_of(flags)
    if can_ask():
        options = msgspec.structs.replace(options, confirm=confirm_trust)
    coding = build_coding(options, Harness)
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(coding.harness),
    ):
        session = portal.call(
            lambda: open_session(coding, thread=thread, resume=resume, mode=flags["mode"])
        )
        return Chat(portal, coding, session).run()
