"""Functions as numba lowers them to LLVM: linked into their callers, and read from files that a wheel brings."""
