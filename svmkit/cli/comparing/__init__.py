"""`svmkit compare` and `svmkit curve`: options, runs, and their tables."""
