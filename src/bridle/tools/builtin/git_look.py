"""Look at a repository: what changed, and what was committed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridle.errors import ToolError
from bridle.tools.builtin.git import Git
from bridle.tools.define import Tool, tool

if TYPE_CHECKING:
    from bridle.tools.builtin.workspace import Workplace

MOST = 200
PLAIN = ("--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty")


def git_diff_tool(place: Workplace) -> Tool:
    """Build the tool for a workspace."""
    git = Git(place)

    @tool(
        name="git_diff",
        category="read",
        read_only=True,
        concurrency_safe=True,
        paths=lambda args: _touched(place, args),
    )
    async def git_diff(path: str = ".", staged: bool = False, base: str | None = None) -> str:
        """Show uncommitted changes, staged ones, or those since a commit; untracked are listed."""
        options = ["--cached"] if staged else []
        options += [_revision(base)] if base is not None else []
        within = git.inside(path)
        result = await git.run("diff", *PLAIN, *options, "--", within)
        parts = [result.stdout.rstrip("\n")] if result.stdout else []
        if not staged:
            others = await git.run("ls-files", "-z", "-o", "--exclude-standard", "--", within)
            parts += [f"Untracked: {name}" for name in others.stdout.split("\0") if name]
        return "\n".join(parts) or "(no changes)"

    return git_diff


def git_log_tool(place: Workplace) -> Tool:
    """Build the tool for a workspace."""
    git = Git(place)

    @tool(
        name="git_log",
        category="read",
        read_only=True,
        concurrency_safe=True,
        paths=lambda args: _touched(place, args),
    )
    async def git_log(
        path: str = ".", limit: int = 20, revision: str = "HEAD", patch: bool = False
    ) -> str:
        """List commits, newest first; patch adds what each changed."""
        if limit < 1:
            raise ToolError("limit starts at 1.")
        shape = [f"--max-count={min(limit, MOST)}", "--date=iso-strict", "--no-show-signature"]
        shape += ["--patch", *PLAIN] if patch else ["--no-patch", *PLAIN]
        shape += ["--format=%h %ad %an%d%n    %s"]
        result = await git.run("log", *shape, _revision(revision), "--", git.inside(path))
        return result.stdout.rstrip("\n") or "(no commits)"

    return git_log


def _touched(place: Workplace, args: dict[str, Any]) -> tuple[str, ...]:
    return place.touched({"path": args.get("path", ".")})


def _revision(name: str) -> str:
    """A revision, which must not be an option."""
    if not name.strip() or name.startswith("-") or "\0" in name:
        raise ToolError(f"{name!r} is not a revision.")
    return name
