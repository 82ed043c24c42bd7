"""What a comparison is to run: sets, solvers, problems, tests and calibration, checked before anything runs."""
