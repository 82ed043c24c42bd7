"""Compiled loops: the arithmetic of a kernel value, tiles of values, differences, kernel rows that are kept."""
