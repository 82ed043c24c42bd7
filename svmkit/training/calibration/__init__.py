"""From decisions to probabilities: the folds that decide on unseen samples, and the curves that are fitted to them."""
