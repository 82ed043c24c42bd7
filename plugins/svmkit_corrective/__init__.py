"""Fully corrective methods, which solve a growing working set in each round: one driver for `fcfw` and `fcsmo`.

It may import `svmkit`'s rooms up to `solver`, and no other plugin package. Solvers are found through entry points.
"""
