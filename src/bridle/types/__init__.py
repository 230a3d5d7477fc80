"""Facts as frozen structs and pure functions over them: no I/O, no clock, no randomness."""
