"""The ways in: each a sibling of the others, over the app."""
