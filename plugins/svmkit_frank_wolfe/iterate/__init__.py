"""The iterate on the simplex: weights and gradient of the tracked points, and the directions in which it can move."""
