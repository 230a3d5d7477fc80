"""The loop: a drain of one thread, step by step, over values."""
