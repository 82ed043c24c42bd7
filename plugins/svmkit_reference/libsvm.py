"""LIBSVM, the reference of every comparison."""

from __future__ import annotations

from dataclasses import dataclass

from svmkit.solver.requirements import Reads
from svmkit_reference.svc import SVC


@dataclass(frozen=True)
class LIBSVM(SVC):
    """LIBSVM through scikit-learn's SVC and SVR (Chang, Lin 2011; Fan, Chen, Lin 2005).

    One step is a whole fit, on one thread. A fit cannot start from a model. It runs in a process of its own, which a
    limit in seconds or Ctrl-C ends, and it is repeated with eps / 10 while the certified gap is too large. For the
    linear, rbf, poly and sigmoid kernels LIBSVM computes the values itself. Any other kernel is handed over as a matrix
    of all its values, which has to fit into the memory budget; LIBSVM's row cache may use the rest of the budget.
    Float32 data are copied to float64.

    Parameters
    ----------
    eps : float, default=0.001
        Largest violation of the optimality conditions that the first fit leaves.
    shrinking : bool, default=True
        Whether points are left out for as long as their weights seem to stay at a bound.
    """

    name = "libsvm"
    reads = Reads.ROWS
    paper = "Chang, Lin 2011"
