"""From features and labels to a certified model: weights, class pairs, paths of C, warm starts, checkpoints, streams.

It may import all rooms from `errors` to `solver`, and `model`.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
