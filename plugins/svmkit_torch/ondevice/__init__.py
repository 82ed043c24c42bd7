"""Solvers on the device: many box problems on the rows of one X at once, each with a certificate in float64."""
