"""MLflow for svmkit: runs, curves, models and the model registry, found through two entry points.

`tracker` is registered in the group ``svmkit.trackers``, `commands` (`svmkit models`) in ``svmkit.commands``.
It may import `svmkit.tracking` and `svmkit.cli` and all that they import; nothing in svmkit imports it.
"""
