"""Where runs are logged, and what they are logged as: `Tracker` is the interface, `RunRecord` a run that has ended.

The core knows the interface only; registry/ has the tracker for MLflow. `svmkit train --json`, the records of
`svmkit compare`, the tracker and the model itself all tell what the `RunRecord` says.

It may import all rooms from `errors` to `solver`, and `model` and `training`.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
