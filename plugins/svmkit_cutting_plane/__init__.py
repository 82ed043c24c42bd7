"""Cutting-plane and bundle methods on the linear risk, over one bundle of cuts: `bmrm`, `ocas` and `svmperf`.

It may import `svmkit`'s rooms up to `solver`, and no other plugin package. Solvers are found through entry points.
"""
