"""From the name of a solver, a kernel or a sampler to the object that does the work."""
