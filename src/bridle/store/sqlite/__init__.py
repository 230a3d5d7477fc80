"""SQLite: a file in WAL mode, or a database in memory."""
