"""Functions lowered to LLVM by numba: linked into their callers, and read from files of a wheel."""
