"""The durable record: SQL text, projections, and one driver per database."""
