"""Kernel functions and their values: the compiled loops, the engines over them, the Gram matrix and its row caches.

It may import `errors`, `runtime`, `plugins` and `data`.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
