"""Dual coordinate descent for linear support vector machines, on one thread or several: solver `dcd`.

It may import `svmkit`'s rooms up to `solver`, and no other plugin package. Solvers are found through entry points.
"""
