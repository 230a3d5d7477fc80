"""Code that runs inside the user's test process: standard library only, imports nothing of Bridle.

The parent starts it with the user's own Python. It collects the tests once, then forks one child
per job, so that a candidate edit costs a fork and the tests it runs, not a new interpreter.
"""
