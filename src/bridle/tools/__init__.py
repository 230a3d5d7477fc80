"""Tools: how they are defined, what they are made of, and the built-in ones."""
