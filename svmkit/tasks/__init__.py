"""What is learnt from data: one strategy for each task, which all other rooms ask in place of its name.

It may import `errors`, `runtime`, `plugins`, `losses`, `data`, `kernels`, `problems`, `solver` and `scoring`.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
