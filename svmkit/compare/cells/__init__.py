"""The cells of a comparison: one fit each, in worker processes here or on a cluster, and their records on disk."""
