"""What the small local model can do: tool choice, arguments, retelling of results, speed.

python benchmarks/local_model.py smollm2 DATA_DIR      (after `bridle models pull smollm2`)
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import anyio

from bridle.models.local import LocalModel
from bridle.models.weights import find_weights
from bridle.ports.model import CallDelta, CallStart, Finish, ModelRequest, TextDelta
from bridle.types.content import ToolCall, ToolResult
from bridle.types.messages import Message, user_message
from bridle.types.tools import ToolSpec


def _tool(name: str, description: str, parameter: str) -> ToolSpec:
    return ToolSpec(
        name=name,
        description=description,
        parameters={
            "type": "object",
            "properties": {parameter: {"type": "string"}},
            "required": [parameter],
        },
    )


TOOLS = (
    _tool("read_file", "Read a file.", "path"),
    _tool("list_files", "List the files of a directory.", "path"),
    _tool("grep", "Search for a text in the files.", "pattern"),
    _tool("bash", "Run a shell command.", "command"),
)

REQUESTS = {
    "read_file": {
        "Show me README.md": "README.md",
        "Read the file src/main.py": "src/main.py",
        "What is in config.yaml?": "config.yaml",
        "Open notes.txt": "notes.txt",
        "Print the contents of setup.cfg": "setup.cfg",
        "Let me see docs/index.md": "docs/index.md",
        "Read pyproject.toml": "pyproject.toml",
        "I want to see a.txt": "a.txt",
    },
    "list_files": {
        "List the files in src": "src",
        "Which files are in the tests directory?": "tests",
        "Show the directory docs": "docs",
        "What files are in the current directory?": ".",
        "List everything in lib": "lib",
        "List the directory src/utils": "src/utils",
        "Show me the folder examples": "examples",
        "What is in the directory data?": "data",
    },
    "grep": {
        "Find TODO in the code": "TODO",
        "Search for 'import os'": "import os",
        "Where is the function parse_args defined?": "parse_args",
        "Which files mention the word deprecated?": "deprecated",
        "Search the files for FIXME": "FIXME",
        "Find all uses of load_config": "load_config",
        "Look for the text hello": "hello",
        "Find the string api_key": "api_key",
    },
    "bash": {
        "Run the tests with pytest": "pytest",
        "Run git status": "git status",
        "Execute make build": "make build",
        "Run python main.py": "python main.py",
        "Show the date with a shell command": "date",
        "Install requests with pip": "pip install requests",
        "Run the command whoami": "whoami",
        "Run npm test": "npm test",
    },
}

RESULTS = (
    ("Show me README.md", "read_file", "# Demo\nIt counts words in text files.", ("counts words",)),
    ("List the files in src", "list_files", "main.py\nutil.py", ("main.py", "util.py")),
    ("Find TODO in the code", "grep", "main.py:3: # TODO fix this", ("main.py",)),
    ("Run git status", "bash", "nothing to commit, working tree clean", ("clean",)),
    ("What does notes.txt say?", "read_file", "buy milk and bread", ("milk",)),
    ("Run the command whoami", "bash", "root", ("root",)),
    ("Run the tests", "bash", "3 passed, 1 failed in 0.5s", ("1 failed",)),
    ("What is the version?", "read_file", "[metadata]\nversion = 1.4.2", ("1.4.2",)),
    ("Which files mention old?", "grep", "a.py:1: old\nlib/b.py:4: old", ("a.py", "b.py")),
    ("Run the tests", "bash", "FAILED test_a.py - assert 1 == 2\n1 failed", ("1 failed",)),
    ("Show me a.txt", "read_file", "The sky is blue.", ("blue",)),
    ("What is in config.yaml?", "read_file", "port: 8080\ndebug: true", ("8080",)),
    ("List docs", "list_files", "index.md\nguide.md\nfaq.md", ("index.md", "faq.md")),
    ("Where is main defined?", "grep", "app.py:12: def main():", ("app.py",)),
    ("Run date", "bash", "Tue Jun 3 10:00", ("Jun 3",)),
    ("Who wrote this?", "bash", "Ada Lovelace", ("Ada",)),
    ("Read missing.txt", "read_file", "There is no file missing.txt", ("no file",)),
    ("Run npm test", "bash", "npm: command not found", ("not found",)),
)

PLAIN = (
    "What is the capital of France?",
    "Hello, who are you?",
    "What is 2 + 2?",
    "Explain what a function is.",
    "Thank you, that is all.",
    "Is Python a programming language?",
    "Tell me a joke.",
    "What does git do?",
)


async def ask(model: LocalModel, messages: list[Message]) -> tuple[str, str, str, Finish | None]:
    tool = args = text = ""
    finish = None
    request = ModelRequest(system="You are a coding agent.", messages=messages, tools=TOOLS)
    async for part in model.stream(request):
        match part:
            case TextDelta():
                text += part.text
            case CallStart():
                tool = part.tool
            case CallDelta():
                args += part.text
            case Finish():
                finish = part
    return tool, args, text, finish


async def main(name: str, data_dir: Path) -> None:
    model = LocalModel(find_weights(name, data_dir), id=f"local/{name}")
    started = time.perf_counter()
    await ask(model, [user_message("m", "Run ls")])
    print(f"load and first answer: {time.perf_counter() - started:.1f} s")
    valid = right_tool = right_args = count = 0
    started = time.perf_counter()
    for wanted, requests in REQUESTS.items():
        for text, value in requests.items():
            tool, args, _, finish = await ask(model, [user_message("m", text)])
            count += 1
            valid += finish is not None and finish.stop != "max_tokens"
            right_tool += tool == wanted
            right_args += tool == wanted and f'"{value}"' in args
    each = (time.perf_counter() - started) / count
    print(f"requests: {count}, valid {valid}, right tool {right_tool}, right argument {right_args}")
    print(f"a call: {each:.2f} s")
    answered = 0
    for text in PLAIN:
        answered += not (await ask(model, [user_message("m", text)]))[0]
    print(f"questions that need no tool: {answered} of {len(PLAIN)} answered without one")
    told = 0
    for text, tool, result, words in RESULTS:
        history = [
            user_message("m1", text),
            Message(id="m2", role="assistant", parts=(ToolCall("c", tool, {}),)),
            Message(id="m3", role="tool", parts=(ToolResult("c", tool, result),)),
        ]
        said = (await ask(model, history))[2]
        told += all(word in said for word in words)
    print(f"results retold with their facts: {told} of {len(RESULTS)}")
    model.close()


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], Path(sys.argv[2]))
