"""Frank-Wolfe solvers on the simplex: a direction or a selection each, over one state, step and line search."""
