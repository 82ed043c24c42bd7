"""Hostile data: the cases, and the trial of a solver on one of them."""
