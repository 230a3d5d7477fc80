"""The harness as users embed it, and the one place where its parts are put together."""
