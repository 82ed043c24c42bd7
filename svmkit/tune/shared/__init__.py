"""The kernel values of all rows, computed once for all folds and all C of a search, and the fits that share them."""
