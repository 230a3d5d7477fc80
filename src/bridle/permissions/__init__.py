"""What a call may do: pure functions from rules and facts to a decision with its trace."""
