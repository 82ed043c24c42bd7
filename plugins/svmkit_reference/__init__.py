"""Third-party software behind svmkit's solver interface: `libsvm`, `liblinear` and `sklearnex`.

It may import `svmkit`'s rooms up to `solver`, and no other plugin package. Solvers are found through entry points.
"""
