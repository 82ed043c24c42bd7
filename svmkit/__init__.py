"""svmkit: train, certify and compare support vector machines.

data -> kernel/gram -> problem -> solve(solver, sampler, stop) -> model -> tracker / registry

Names are imported when they are first used, so that `import svmkit` and `svmkit --help` stay fast.
"""

from importlib import import_module
from typing import Any

from svmkit._version import __version__

_HOME = {
    "Certificate": "svmkit.problem",
    "Dataset": "svmkit.data",
    "Gram": "svmkit.gram",
    "InputError": "svmkit.errors",
    "Kernel": "svmkit.kernels",
    "Problem": "svmkit.problem",
    "SVMClassifier": "svmkit.estimators",
    "SVMModel": "svmkit.model",
    "SVMOneClass": "svmkit.oneclass",
    "Sampler": "svmkit.sampler",
    "SimplexQP": "svmkit.problem",
    "Solution": "svmkit.solver",
    "Solver": "svmkit.solver",
    "Status": "svmkit.solver",
    "SvmkitError": "svmkit.errors",
    "c_path": "svmkit.path",
    "fit": "svmkit.training",
    "load": "svmkit.data",
    "minimize_simplex": "svmkit.simplex",
    "plot_history": "svmkit.plotting",
    "solve": "svmkit.loop",
}

__all__ = [*_HOME, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'svmkit' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
