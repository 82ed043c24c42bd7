"""Many solvers on many sets: what to run (spec), where (runner, worker, store), and what came out (results)."""
