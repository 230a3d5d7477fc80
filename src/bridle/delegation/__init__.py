"""Other agents: a call that waits for a thread of its own."""
