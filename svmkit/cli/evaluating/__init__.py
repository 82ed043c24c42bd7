"""`svmkit evaluate`, `predict` and `explain`: the quality of a model on labelled rows, its predictions, and reasons."""
