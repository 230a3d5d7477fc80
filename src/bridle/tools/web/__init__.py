"""The web as tools see it: what may be reached, how it is fetched, and pages as text."""
