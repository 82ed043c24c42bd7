"""Custom solvers, kernels and other plugins: `svmkit plugins`, `new`, `check` and `warmup`."""
