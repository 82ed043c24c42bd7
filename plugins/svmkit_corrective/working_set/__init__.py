"""The working set of a fully corrective solve: its kernel matrix, dense or sparse, and which points join and leave."""
