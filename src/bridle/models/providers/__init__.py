"""One file per wire format, each a `Model`; nothing here reads the environment."""
