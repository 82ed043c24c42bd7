"""Dask: the workers of a cluster, what they are asked, and what they hold."""
