"""The parts of a session, each a small class over the same attachment."""
