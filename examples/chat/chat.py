"""A chat in the terminal: plan first, then build; approvals, questions and live tools.

python chat.py --model anthropic/claude-sonnet-4-5      or   scripted/script.yaml
"""

import argparse

import anyio
from anyio import to_thread

from bridle import Agent, Harness, Mode, Session, Workspace

PLAN = Agent("You look around, ask what is unclear, and submit a plan. You change nothing yet.")
BUILD = Agent("You carry out the plan that was approved, and say what you did.")
MODES = [Mode("plan", PLAN, default=True, transitions_to="build"), Mode("build", BUILD)]


async def ask(prompt: str) -> str:
    """Read a line; the end of the input is an empty one."""
    try:
        return (await to_thread.run_sync(input, prompt)).strip()
    except EOFError:
        return ""


def show(event) -> None:
    """Print what happens while it happens."""
    match event.type:
        case "message_update" if event.kind == "text":
            print(event.delta, end="", flush=True)
        case "message_end" if event.message.role == "assistant" and event.message.text:
            print()
        case "tool_start":
            print(f"  > {event.tool} {event.args}")
        case "shell_output":
            print(f"  | {event.text}", end="", flush=True)
        case "tool_end":
            print(f"  < {'failed: ' if event.is_error else ''}{event.result.splitlines()[0][:70]}")
        case "mode_changed":
            print(f"-- {event.mode_id}")


async def answer(session: Session, pending) -> None:
    """Ask the user what the agent asks."""
    match pending.kind:
        case "approval":
            said = await ask(f"{pending.card['title']}  run it? [y/a/n] ")
            if said in ("y", "a"):
                await (session.approve if said == "y" else session.always_allow)(pending.id)
            else:
                await session.decline(pending.id, said or None)
        case "question":
            labels = [option["label"] for option in pending.args["options"]]
            said = await ask(f"{pending.args['question']} [{', '.join(labels)}] ")
            if not said or not labels or said in labels:  # else it is asked again
                await (session.answer(pending.id, said) if said else session.abort())
        case "plan":
            said = await ask(f"{pending.args['plan']}\ncarry it out? [y, or what to change] ")
            await session.answer_plan(pending.id, said == "y", said)


async def main(model: str) -> None:
    """Talk until the user has nothing more to say."""
    async with Harness(id="chat", modes=MODES, model=model, workspace=Workspace(".")) as harness:
        session = await harness.session(new=True)
        session.events.subscribe(show)
        while said := await ask(f"{session.modes.current.id}> "):
            result = await session.send(said)
            while result.pending:
                await answer(session, result.pending[0])
                result = await session.wait(result.run_id)
            print(f"-- {result.reason}, {session.usage.total_tokens} tokens")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="anthropic/claude-sonnet-4-5")
    anyio.run(main, parser.parse_args().model)
