"""The plan of a comparison: sets, solvers, problems, tests and calibration, checked before anything runs."""
