"""Compiled loops: the arithmetic of a kernel value, tiles of values, differences, stored kernel rows."""
