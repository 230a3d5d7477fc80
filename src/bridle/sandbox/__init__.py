"""Processes, their confinement, file access within the workspace, and file snapshots.

`keeper` and `warden` run in helper processes of their own and import nothing of the rest, so this
file stays empty.
"""
