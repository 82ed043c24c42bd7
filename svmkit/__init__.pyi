from ._version import __version__
from .choice import fit
from .compare import plot_comparison
from .data import Dataset, load
from .errors import InputError, SvmkitError
from .estimators import SVMClassifier, SVMOneClass, SVMRanker, SVMRegressor, full_conformal
from .kernels import Gram, Kernel
from .model import SVMModel
from .plotting import plot_decision, plot_history, plot_relevance
from .problems import Certificate, Problem, SimplexQP
from .referee import certify
from .solver import Sampler, Solution, Solver, Status, minimize_simplex, solve
from .training import c_path

__all__ = [
    "Certificate",
    "Dataset",
    "Gram",
    "InputError",
    "Kernel",
    "Problem",
    "SVMClassifier",
    "SVMModel",
    "SVMOneClass",
    "SVMRanker",
    "SVMRegressor",
    "Sampler",
    "SimplexQP",
    "Solution",
    "Solver",
    "Status",
    "SvmkitError",
    "__version__",
    "c_path",
    "certify",
    "fit",
    "full_conformal",
    "load",
    "minimize_simplex",
    "plot_comparison",
    "plot_decision",
    "plot_history",
    "plot_relevance",
    "solve",
]
