"""Decomposition of the dual of C-SVC with a free bias, over one state: `smo`, `smo1`, `smol2` and `svmlight`.

It may import `svmkit`'s rooms up to `solver`, and no other plugin package. Solvers are found through entry points.
"""
