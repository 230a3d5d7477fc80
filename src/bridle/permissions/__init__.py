"""What a call may do: pure functions of the call's facts and the policy.

`evaluate` decides in the ten steps of the contract and says why; `shell` names what a command
line would run; `patterns` reads rules in every written form; `compile` makes rules out of what the
user wrote; `explain`, `learn` and `within` reason about policies. Nothing here reads a file, a
clock or the environment.
"""
