"""Resume after a crash: a process dies inside a tool, another one goes on with the run.

`fetch` is read-only and so `safe`: it runs again. `charge` is `once`, the default: whether it took
effect before the crash is not known, so it is not repeated, and the model is told. Prints:

    process 1 died in fetch
    process 2 died in charge
    fetch ran 2 times, charge ran 1 times
    charge: Outcome ambiguous: the process stopped while charge was running.
    end_turn: Please look whether the charge went through.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import anyio

from bridle import Agent, Harness, Rules, tool
from bridle.testing import ScriptedModel, calls, says

HERE = Path(os.environ.get("EXAMPLE_DIR") or tempfile.mkdtemp())
DIES_IN = os.environ.get("EXAMPLE_DIES_IN")
SCRIPT = [calls("fetch"), calls("charge"), says("Please look whether the charge went through.")]


def works(name: str) -> None:
    """Leave a trace outside the process, and perhaps die as if the power had failed."""
    with (HERE / name).open("a") as file:
        file.write(".")
    if name == DIES_IN:
        os._exit(9)


@tool(category="read", read_only=True)
def fetch() -> str:
    """Fetch the bill."""
    works("fetch")
    return "12 EUR"


@tool(category="execute")
def charge() -> str:
    """Charge the card."""
    works("charge")
    return "charged"


async def pay() -> None:
    """Start the run, or go on with the one that an earlier process left open."""
    model = ScriptedModel([lambda request: SCRIPT[request.step - 1]] * len(SCRIPT))
    harness = Harness(
        store=f"sqlite:///{HERE / 'bills.db'}",
        agent=Agent(instructions="You pay bills.", tools=[fetch, charge]),
        permissions=Rules(tools={"fetch": "allow", "charge": "allow"}),
        model="scripted/bills",
        resolve_model=lambda model_id: model,
    )
    async with harness:
        session = await harness.session()  # the newest thread, or a new one
        run_id = await session.open_run()
        if run_id is None:
            result = await session.send("Pay the bill.")
        else:
            await session.resume()
            result = await session.wait(run_id)
        for event in await session.run_events(result.run_id):
            if event.type == "tool_end" and event.ambiguous:
                print(f"{event.tool}: {event.result.split('. ')[0]}.")
        print(f"{result.reason}: {result.text}")


def main() -> None:
    if DIES_IN is None:
        for number, name in enumerate(("fetch", "charge"), start=1):
            told = {**os.environ, "EXAMPLE_DIR": str(HERE), "EXAMPLE_DIES_IN": name}
            died = subprocess.run([sys.executable, __file__], env=told, check=False)
            assert died.returncode == 9, died
            print(f"process {number} died in {name}")
        ran = {name: (HERE / name).stat().st_size for name in ("fetch", "charge")}
        print(f"fetch ran {ran['fetch']} times, charge ran {ran['charge']} times")
    anyio.run(pay)


if __name__ == "__main__":
    main()
