"""The floor of the headline task: an agent of fifty lines, with no store, gate or sandbox."""

import http.client
import json
import subprocess
import sys
from pathlib import Path

TEXT = {"type": "string"}
TOOLS = [
    ("read_file", "Read a text file.", ("path",)),
    ("write_file", "Write a text file.", ("path", "content")),
    ("bash", "Run a command with bash.", ("command",)),
]
HEAD = {"model": "served-model", "stream": True, "tools": []}
for name, description, required in TOOLS:
    schema = {"type": "object", "properties": dict.fromkeys(required, TEXT), "required": required}
    function = {"name": name, "description": description, "parameters": schema}
    HEAD["tools"].append({"type": "function", "function": function})


def call(name, args):
    if name == "read_file":
        return Path(args["path"]).read_text()
    if name == "write_file":
        Path(args["path"]).write_text(args["content"])
        return "written"
    done = subprocess.run(["bash", "-c", args["command"]], capture_output=True, text=True)
    return f"{done.stdout}{done.stderr}[exit code {done.returncode}]"


def ask(link, messages):
    text, calls = "", {}
    link.request("POST", "/v1/chat/completions", json.dumps({**HEAD, "messages": messages}))
    for line in link.getresponse():
        if line.startswith(b"data: {"):
            for choice in json.loads(line[6:])["choices"]:
                text += choice["delta"].get("content") or ""
                for part in choice["delta"].get("tool_calls", ()):
                    known = calls.setdefault(part["index"], {"function": {"arguments": ""}, **part})
                    if known is not part:
                        known["function"]["arguments"] += part["function"]["arguments"]
    return {"role": "assistant", "content": text, "tool_calls": list(calls.values())}


link = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
system = "You are a coding agent. Work in this directory with your tools, then say what you did."
messages = [{"role": "system", "content": system}, {"role": "user", "content": sys.argv[2]}]
while True:
    messages.append(answer := ask(link, messages))
    if not answer["tool_calls"]:
        break
    for wanted in answer["tool_calls"]:
        result = call(wanted["function"]["name"], json.loads(wanted["function"]["arguments"]))
        messages.append({"role": "tool", "tool_call_id": wanted["id"], "content": result})
print(answer["content"])
