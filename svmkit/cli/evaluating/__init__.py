"""`svmkit evaluate` and `svmkit predict`: the quality of a model on rows with labels, and its answers on others."""
