"""Comparison specs: what to solve, the numbers that were published, and how to set one beside the other."""
