"""The papers' figures, redrawn with covey's methods.

`data` finds the tables, `figures` declares what the papers show and claim, `running` measures the
points, `points` stores them, `judging` decides whether a claim holds, and `page` shows the results.
`examples` has the papers' worked examples and proofs.
"""
