"""A Chromium of the machine, started in the sandbox and talked to over its standard streams."""
