"""scikit-learn-intelex, the fastest SVM that we measure against."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import ClassVar

from svmkit.errors import Unavailable
from svmkit_reference.svc import SVC


@dataclass(frozen=True)
class SklearnEx(SVC):
    """SVC of scikit-learn-intelex (oneDAL; Wen et al. 2018, ThunderSVM): one step is a whole fit, on all cores.

    An iteration is one of its working sets. Starts, budgets and kernels are treated as by `LIBSVM`, and the software
    hands kernels that it lacks over to LIBSVM itself. Float32 data stay float32 and so do the weights, whose rounding
    the certificate includes. The software starts threads of its own, whatever `--threads` says.

    Parameters
    ----------
    eps : float, default=0.001
        Largest violation of the optimality conditions that the first fit leaves.
    shrinking : bool, default=True
        Whether points are left out while they stay at a bound.
    """

    name = "sklearnex"
    module: ClassVar[str] = "sklearnex.svm"
    paper = "Wen et al. 2018"


if find_spec("sklearnex") is None:
    raise Unavailable("needs scikit-learn-intelex: pip install scikit-learn-intelex", SklearnEx)
