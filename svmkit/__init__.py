"""svmkit: train, certify and compare support vector machines.

data -> kernel/gram -> problem -> solve(solver, sampler, stop) -> model -> tracker / registry

Names are imported when they are first used, so that `import svmkit` and `svmkit --help` stay fast.
"""

from typing import Any

import lazy_loader as lazy

from svmkit.runtime.garbage import collecting_seldom

_import, __dir__, __all__ = lazy.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    with collecting_seldom():  # a tenth of the time of an import
        return _import(name)
