"""The one door to side effects: validate, decide, approve, run, bound."""
