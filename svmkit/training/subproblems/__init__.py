"""The training of the problems that data are divided into: sequentially, in parallel, or many in one call."""
