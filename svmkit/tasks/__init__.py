"""The tasks: one strategy for each, which all other rooms use instead of the task's name.

It may import `errors`, `runtime`, `plugins`, `losses`, `data`, `kernels`, `problems`, `solver` and `scoring`.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
