"""Run a thread again from its log: the same loop, no model call, no effect."""
