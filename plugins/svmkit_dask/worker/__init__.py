"""The worker's computations on the rows of a part."""
