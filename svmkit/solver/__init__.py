"""The contract of a solver, the outer loop that drives every solver, stop rules and samplers.

The room may import `errors`, `plugins`, `runtime`, `data`, `kernels` and `problems`. It re-exports all names that the
author of a solver or a sampler needs, including names of the rooms below.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
