"""The driver: the rows that matter, the state of a solve, the problem and its certificate, and training data."""
