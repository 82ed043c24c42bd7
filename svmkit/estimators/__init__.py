"""Estimators with scikit-learn's conventions over any solver.

It may import all rooms from `errors` to `training`, `tune` and `choice`.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
