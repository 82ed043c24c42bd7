"""MLflow for svmkit: runs, curves, models and the model registry, found through the entry point svmkit.trackers."""
