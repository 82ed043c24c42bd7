"""Primal risks: of linear models, with duals for coordinate descent, and of kernel expansions; all classes at once."""
