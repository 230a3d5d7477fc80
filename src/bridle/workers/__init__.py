"""Who drains threads, and when."""
