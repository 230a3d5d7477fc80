"""Answer approvals in code: a call that nothing allows waits, and the run parks until you answer.

Prints:

    awaiting: pay {'amount': 12, 'to': 'Ada'}
    awaiting: pay {'amount': 1200, 'to': 'Bob'}
    end_turn: Ada was paid, Bob was not.
    paid: [('Ada', 12)]
"""

import anyio

from bridle import Agent, Harness, Pending, RunResult, Session, tool
from bridle.testing import ScriptedModel, calls, says

MOST = 100
paid: list[tuple[str, int]] = []


@tool(category="execute")
async def pay(to: str, amount: int) -> str:
    """Pay somebody."""
    paid.append((to, amount))
    return f"paid {amount} to {to}"


async def answer(session: Session, waiting: Pending) -> None:
    """Decide by the arguments; a person would be asked here."""
    if waiting.args["amount"] <= MOST:
        await session.approve(waiting.id)
    else:
        await session.decline(waiting.id, reason=f"more than {MOST}")


async def main() -> None:
    model = ScriptedModel(
        [
            calls("pay", to="Ada", amount=12),
            calls("pay", to="Bob", amount=1200),
            says("Ada was paid, Bob was not."),
        ]
    )
    harness = Harness(
        store="memory:",
        agent=Agent(instructions="You pay bills.", tools=[pay]),
        model="scripted/bills",
        resolve_model=lambda model_id: model,
    )
    async with harness:
        session = await harness.session()
        result: RunResult = await session.send("Pay Ada 12 and Bob 1200.")
        while result.reason == "awaiting":
            for waiting in result.pending:
                print(f"awaiting: {waiting.tool} {dict(sorted(waiting.args.items()))}")
                await answer(session, waiting)
            result = await session.wait(result.run_id)
        print(f"{result.reason}: {result.text}")
    print(f"paid: {paid}")


if __name__ == "__main__":
    anyio.run(main)
