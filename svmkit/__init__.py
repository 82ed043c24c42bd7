"""svmkit: train, certify and compare support vector machines.

data -> kernel/gram -> problem -> solve(solver, sampler, stop) -> model -> tracker / registry

Names are imported when they are first used, so that `import svmkit` and `svmkit --help` stay fast.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
