"""Learning from samples as they arrive, block by block."""
