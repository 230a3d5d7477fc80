"""The embedded repair agent behind `bridle fix`: no key, no network, no language model.

Failing and passing tests say where the bug may be (`localise`), syntax-tree operators say what
may be wrong there (`operators`, `rank`), forked test processes say what is right (`search`). The
user's files are only read; the patch is handed to the agent's ordinary edit tool.
"""
