"""What is known of a run, as folds over its events."""
