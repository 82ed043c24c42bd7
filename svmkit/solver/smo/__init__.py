"""Sequential minimal optimisation in compiled code: searches, steps and their loops, shared by all solvers of boxes."""
