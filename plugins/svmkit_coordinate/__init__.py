"""Coordinate methods on the dual of linear support vector machines; found through entry points."""
