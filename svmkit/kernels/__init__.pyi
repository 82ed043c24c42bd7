from .engines import Engine, engine_for
from .forms import Form
from .functions import (
    RBF,
    FromFunction,
    InputError,
    Kernel,
    Laplacian,
    Linear,
    Poly,
    Precomputed,
    Sigmoid,
)
from .gamma import resolve_gamma
from .gram import Gram, parse_bytes

__all__ = [
    "RBF",
    "Engine",
    "Form",
    "FromFunction",
    "Gram",
    "InputError",
    "Kernel",
    "Laplacian",
    "Linear",
    "Poly",
    "Precomputed",
    "Sigmoid",
    "engine_for",
    "parse_bytes",
    "resolve_gamma",
]
