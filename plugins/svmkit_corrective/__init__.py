"""Fully corrective methods: a working set that grows by many points a round, and is solved for before the next."""
