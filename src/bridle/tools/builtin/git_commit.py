"""Commit named paths, or what is staged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridle.errors import ToolError
from bridle.tools.builtin.git import Git
from bridle.tools.define import Tool, tool

if TYPE_CHECKING:
    from bridle.tools.builtin.workspace import Workplace


def git_commit_tool(place: Workplace) -> Tool:
    """Build the tool for a workspace."""
    git = Git(place)

    def touched(args: dict[str, Any]) -> tuple[str, ...]:
        paths = args.get("paths") or ()
        return tuple(found for path in paths for found in place.touched({"path": path}))

    @tool(name="git_commit", category="edit", effect="once", paths=touched)
    async def git_commit(message: str, paths: list[str] | None = None) -> str:
        """Commit the named files and directories, or what is staged; no hooks are run."""
        if not message.strip():
            raise ToolError("The message is empty.")
        named = [git.inside(path) for path in paths or ()]
        if "." in named:
            raise ToolError("Name what to commit; the whole workspace is not a name.")
        await _check_author(git)
        if named:
            await git.run("add", "--all", "--", *named, writes=True)
            await _check_changes(git, named)
            await _commit(git, message, "--only", "--", *named)
        else:
            await _check_changes(git, [])
            await _commit(git, message)
        shown = await git.run("show", "--no-patch", "--format=%h %s", "HEAD")
        changed = await git.run(
            "diff-tree", "--root", "--no-commit-id", "--name-only", "-r", "-z", "HEAD"
        )
        files = [name for name in changed.stdout.split("\0") if name]
        return "\n".join([f"Committed {shown.stdout.strip()}", *files])

    return git_commit


async def _commit(git: Git, message: str, *what: str) -> None:
    options = ("--quiet", "--no-verify", "--no-gpg-sign", "--cleanup=whitespace", "--file=-")
    await git.run("commit", *options, *what, stdin=message.encode(), writes=True)


async def _check_author(git: Git) -> None:
    """Say clearly when nobody is configured; a name is never guessed."""
    await git.run("rev-parse", "--git-dir")
    try:
        await git.run("var", "GIT_AUTHOR_IDENT")
        await git.run("var", "GIT_COMMITTER_IDENT")
    except ToolError as error:
        raise ToolError(
            "Git does not know who commits: user.name and user.email are not configured.",
            hint="Ask the user to run: git config --global user.name NAME; "
            "git config --global user.email ADDRESS",
            kind="no_author",
        ) from error


async def _check_changes(git: Git, named: list[str]) -> None:
    """Refuse a commit without changes before anything is written."""
    scope = ["--", *named] if named else []
    staged = await git.run("diff", "--cached", "--name-only", "--no-ext-diff", *scope)
    if not staged.stdout.strip():
        what = "The named paths have no changes." if named else "Nothing is staged."
        raise ToolError(what, hint="Name the paths to commit.", kind="nothing_to_commit")
