"""Optimisation problems: objectives, feasibility, certificates from scratch, and decision functions of their points.

It may import `errors`, `runtime`, `data` and `kernels`.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
