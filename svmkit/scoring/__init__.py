"""The quality of predictions: accuracy, metrics by name, scores of classes, of quantities and of probabilities.

It may import `errors`, `runtime`, `plugins`, `losses`, `data`, `kernels`, `problems` and `solver`.
"""
