"""LIBSVM, the reference of every comparison."""

from __future__ import annotations

from dataclasses import dataclass

from svmkit_reference.svc import SVC


@dataclass(frozen=True)
class LIBSVM(SVC):
    """LIBSVM through scikit-learn's SVC (Chang, Lin 2011; Fan, Chen, Lin 2005): one step is a whole fit, on one thread.

    It cannot be started from a model nor stopped inside a fit: budgets and Ctrl-C are heeded when the fit is over, and
    the fit is made again with eps / 10 while the certified gap is too large. linear, rbf, poly and sigmoid kernels
    are its own; of others it is given all values, which have to fit the memory budget. Its row cache may take what the
    budget leaves. Float32 data are copied to float64.

    eps : largest violation of the optimality conditions, at first; shrinking : leave points out that stay at a bound
    """

    name = "libsvm"
    paper = "Chang, Lin 2011"
