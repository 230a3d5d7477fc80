"""Checks: what decides whether a result is verified, not the model."""
