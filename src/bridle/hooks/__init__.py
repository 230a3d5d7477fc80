"""Code of the user's that is run at the moments of an agent's life."""
