"""Sources of answers: wire formats, the HTTP client under them, and what to do when they fail."""
