"""scikit-learn-intelex, the fastest third-party SVM in the comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import ClassVar

from svmkit.errors import Unavailable
from svmkit_reference.svc import SVC


@dataclass(frozen=True)
class SklearnEx(SVC):
    """SVC and SVR of scikit-learn-intelex (oneDAL; Wen et al. 2018, ThunderSVM): one step is a whole fit, on all cores.

    One working set counts as one iteration. Starts, budgets and kernels are treated as in `LIBSVM`; for a kernel that
    the software lacks, it calls LIBSVM itself. Float32 data stay float32, and so do the weights, whose rounding the
    certificate includes. The software starts its own threads, regardless of `--threads`.

    Parameters
    ----------
    eps : float, default=0.001
        Largest violation of the optimality conditions that the first fit leaves.
    shrinking : bool, default=True
        Whether points are left out while their weights seem to stay at a bound.
    """

    name = "sklearnex"
    module: ClassVar[str] = "sklearnex.svm"
    paper = "Wen et al. 2018"


if find_spec("sklearnex") is None:
    raise Unavailable("needs scikit-learn-intelex: pip install scikit-learn-intelex", SklearnEx)
