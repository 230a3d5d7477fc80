"""Models behind one port: the registry that resolves ids, and the models that need no network."""
