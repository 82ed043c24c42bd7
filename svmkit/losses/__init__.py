"""Losses: the definition of each one, and the six numbers a sample from which solvers and certificates work.

It may import `errors`, `runtime` and `plugins`.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
