"""Stochastic subgradient methods, one sample or a few at a time; found through entry points."""
