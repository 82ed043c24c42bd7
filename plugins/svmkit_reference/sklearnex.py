"""scikit-learn-intelex, the fastest of the SVMs that we measure against."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import ClassVar

from svmkit.errors import Unavailable
from svmkit_reference.svc import SVC


@dataclass(frozen=True)
class SklearnEx(SVC):
    """SVC of scikit-learn-intelex (oneDAL; Wen et al. 2018, ThunderSVM): one step is a whole fit, on all cores.

    An iteration is one of its working sets. The rest is as for libsvm, which also takes over kernels that it lacks.
    Float32 data stay float32, its weights too: their rounding is within the certificate. It takes threads of its own,
    whatever `--threads` says.

    eps : largest violation of the optimality conditions, at first; shrinking : leave points out that stay at a bound
    """

    name = "sklearnex"
    module: ClassVar[str] = "sklearnex.svm"
    paper = "Wen et al. 2018"


if find_spec("sklearnex") is None:
    raise Unavailable("needs scikit-learn-intelex: pip install scikit-learn-intelex", SklearnEx)
