"""The driver: its rows, the state of a solve, the problem and its certificate, and training data."""
