"""Newton's method on the primal of linear problems: `newton`.

It may import `svmkit`'s rooms up to `solver`, and no other plugin package. Solvers are found through entry points.
"""
