"""`svmkit evaluate`, `predict` and `explain`: the quality of a model on rows with labels, its answers, and why."""
