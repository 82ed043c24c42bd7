"""Decomposition methods on the dual of C-SVC with a free bias: SMO and its relatives; found through entry points."""
