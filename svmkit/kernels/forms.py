"""The scalar functions of the built-in kernels, by number: compiled loops take a `Form` instead of a function."""

from __future__ import annotations

from enum import IntEnum


class Form(IntEnum):
    """The scalar function of a kernel, applied to a dot product (LAPLACIAN: to an l1 distance)."""

    LINEAR = 0
    RBF = 1
    POLY = 2
    SIGMOID = 3
    LAPLACIAN = 4
