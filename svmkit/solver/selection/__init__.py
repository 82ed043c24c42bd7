"""From the name of a solver, a kernel or a sampler to the object."""
