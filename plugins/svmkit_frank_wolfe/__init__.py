"""Frank-Wolfe methods on the simplex, from `fw` to `cvm`: a direction or an oracle each, over one state and step.

It may import `svmkit`'s rooms up to `solver`, and no other plugin package. Solvers are found through entry points.
"""
