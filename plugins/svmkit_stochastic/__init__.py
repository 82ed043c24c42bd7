"""Stochastic subgradient methods: `pegasos` and `norma` on kernels, `pegasos`, `sgd`, `sgdqn` and `folos` on X.

It may import `svmkit`'s rooms up to `solver`, and no other plugin package. Solvers are found through entry points.
"""
