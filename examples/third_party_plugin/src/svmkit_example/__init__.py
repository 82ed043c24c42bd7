"""A solver, a kernel and a sampler that svmkit finds by entry point, as it finds its own."""
