"""Bridle: the agent harness for Python."""

from bridle._version import __version__

__all__ = ["__version__"]
