"""docs/reference/spec.md from bridle.spec.model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from markdown import default_of, flat, hint, table

from bridle.spec.model import HarnessSpec

SPEC_INTRO = """# harness.yaml

The portable contract of an agent: YAML or JSON, found in the directory that a command is given in
or in the nearest one above it in the git repository, or named with `--spec`; other
[layers](../configuration.md) may add to it. A field stands here when something enforces it; any
other field is refused with exit code 2, its line, and the nearest name that exists. `version` and
`name` are required.

```yaml
version: 1
name: careful
flavor: coding
model_policy:
  primary: openai/gpt-4o-mini
execution_policy:
  approval_profile: balanced
  allow_shell: false
limits:
  max_steps: 40
  timeout: 900
checks:
  enabled: true
```
"""

MEANINGS = {
    "version": "The version of the spec's format.",
    "name": "Names the harness in its threads.",
    "description": "For people.",
    "flavor": "`coding` has the tools of a workspace; `no_tool` is compiled without any tool.",
    "model_policy.primary": "`provider/model`; `--model` goes before it.",
    "policy_tests": "Calls, and what the policy must decide about each; `bridle validate` and "
    "`bridle policy test` run them. See [policies](observing.md#policies).",
    "model_policy.fallbacks": "Models that answer when those before them cannot; see [models]"
    "(../models.md#fallbacks).",
    "model_policy.profile": "A kind of work: values that the pack and the fields here go before.",
    "model_policy.pack": "How a family of models is used; found by the model's id for local ones.",
    "model_policy.temperature": "Sent with each request.",
    "model_policy.reasoning": "How much the model thinks, where it can.",
    "model_policy.context_window": "Tokens, where the table does not know or is wrong.",
    "model_policy.max_output_tokens": "Of one answer.",
    "model_policy.tool_call_format": "`prompt` and `strict-json` put the tools into the prompt and "
    "read calls from text, for models without a native form.",
    "model_policy.history": "How many messages of the thread are sent at most.",
    "model_policy.max_steps": "Like `limits.max_steps`, as part of how a model is used.",
    "model_policy.base_url": "Where the provider of `primary` is reached. Needs "
    "[trust](../hooks.md#trust).",
    "model_policy.providers": "Where providers are reached. Needs [trust](../hooks.md#trust).",
    "execution_policy.sandbox": "What confines commands and checks. A kind that does not work here "
    "is refused, never replaced; `auto` is the strongest that works, `local` means `auto`.",
    "execution_policy.approval_profile": "What runs without asking: see [the gate]"
    "(../concepts/gate-and-permissions.md#profiles).",
    "execution_policy.allow_write": "`false` removes the tools that write; the model is not told "
    "of them.",
    "execution_policy.allow_shell": "`false` removes `bash`.",
    "execution_policy.allow_read": "`false` denies what reads.",
    "execution_policy.allow_network": "`true` lets commands reach the network, and the web tools "
    "ask for their hosts; `false` denies both.",
    "execution_policy.writable": "Directories beside the workspace that may be written.",
    "execution_policy.readable": "Directories beside the workspace that may be read.",
    "execution_policy.allowed_commands": "Command prefixes that run without asking; where given, "
    "every other command is asked.",
    "execution_policy.denied_commands": "Command prefixes that never run, wherever they stand in "
    "a command line.",
    "execution_policy.allowed_hosts": "The only hosts that may be reached: by commands through a "
    "proxy, and by [the web tools](../tools-web.md#which-hosts).",
    "tools.enabled": "The only built-in tools that are offered, by name or glob; `default` stands "
    "for those that usually are.",
    "tools.disabled": "What is taken away from them.",
    "tools.search_url": "Where [`web_search`](../tools-web.md#web_search) looks, unless "
    "`BRIDLE_SEARCH_URL` names another place.",
    "execution_policy.categories": "What a category gets: `read`, `edit`, `execute`, `mcp`, "
    "`other` to `allow`, `notify`, `ask`, `deny`.",
    "execution_policy.permissions": "Rules, first match first: see [permissions]"
    "(../permissions.md#patterns).",
    "limits.max_usd": "For the run and everything it starts. Needs a model whose price is known.",
    "limits.max_tokens": "For the run and everything it starts, in and out.",
    "limits.max_steps": "Model requests of the run; without it 1000.",
    "limits.timeout": "Seconds; the time that a run is parked does not count.",
    "limits.max_tool_calls": "Calls of the run; those beyond it are not run.",
    "context.instruction_files": "Files that are read instead of `AGENTS.md` and `CLAUDE.md`, in "
    "each directory from the root of the repository down to here; `[]` reads none.",
    "checks.enabled": "`false` switches checks off. See [checks](../checks.md).",
    "checks.fail_on_error": "`true`: a failed verdict is exit code 3. Without it, that is so only "
    "where there is no `checks` section.",
    "checks.max_rounds": "How often failures are sent back to the agent, within its limits.",
    "checks.timeout_seconds": "For each step without a `timeout` of its own, and for found tests.",
    "checks.custom_steps": "`name`, `command` (for bash), `timeout`, `enabled`; without any the "
    "project's own tests are found.",
    "observability.run_store": "`sqlite` (the default) or `memory`; `postgres` and `file` are "
    "refused by this version.",
    "observability.store_url": "`sqlite:///FILE`, relative to the project, if not your own store. "
    "Every command that reads runs here reads it.",
    "hooks": "Code that runs at moments of a run, from every layer: see [hooks](../hooks.md). A "
    "project's need [trust](../hooks.md#trust).",
}


def spec_page() -> str:
    parts = [SPEC_INTRO]
    top = [f for f in msgspec.structs.fields(HarnessSpec) if section_of(f.type) is None]
    parts.append("## Top level\n")
    parts.append(fields_table(top, ""))
    for field in msgspec.structs.fields(HarnessSpec):
        section = section_of(field.type)
        if section is not None:
            parts.append(f"## {field.encode_name}\n\n{flat(section.__doc__)}\n")
            parts.append(fields_table(msgspec.structs.fields(section), f"{field.encode_name}."))
    return "\n".join(parts)


def fields_table(fields: Iterable[msgspec.structs.FieldInfo], prefix: str) -> str:
    rows = [
        (
            f"`{field.encode_name}`",
            hint(field.type),
            "required" if field.required else f"`{default_of(field)}`",
            MEANINGS.get(prefix + field.encode_name, ""),
        )
        for field in fields
    ]
    return table(("field", "value", "default", "meaning"), rows)


def section_of(kind: Any) -> type[msgspec.Struct] | None:
    is_section = isinstance(kind, type) and issubclass(kind, msgspec.Struct)
    return kind if is_section else None
