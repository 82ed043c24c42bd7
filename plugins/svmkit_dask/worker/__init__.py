"""What a worker computes with the rows of a part."""
