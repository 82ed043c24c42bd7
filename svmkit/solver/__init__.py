"""The contract of a solver, all that the author of a solver plugin imports, and the one outer loop that drives it.

It may import `errors`, `plugins`, `runtime`, `data`, `kernels` and `problems`.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
