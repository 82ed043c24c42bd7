"""Solvers, kernels and more of one's own: `svmkit plugins`, `new`, `check` and `warmup`."""
