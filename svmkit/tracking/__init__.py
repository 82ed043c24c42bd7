"""The logging of runs: `Tracker` is the interface of a store, `RunRecord` the record of a finished run,
`Recorder` what a worker process has to say to a tracker of its parent.

The core knows only the interface; registry/ has the tracker for MLflow. `svmkit train --json`, the records of `svmkit
compare`, the tracker and the model itself all take their facts from the `RunRecord`.

It may import all rooms from `errors` to `solver`, and `model` and `training`.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
