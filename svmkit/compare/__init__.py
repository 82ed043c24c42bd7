"""Many solvers on many sets: what to run, in which processes, what came out, and the report on it.

It may import all rooms from `errors` to `training`, and `tracking`.
"""
