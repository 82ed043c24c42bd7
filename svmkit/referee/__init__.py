"""The referee: certificates of models trained by other software, each for the problem posed by that software.

It may import `errors`, `plugins`, `runtime`, `losses`, `data`, `kernels`, `problems`, `solver`, `tasks`, `model`,
`scoring` and `training`.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
