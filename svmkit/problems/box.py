"""BoxQP: the dual of C-SVC with a bias that is not regularised, as LIBSVM solves it, for all losses of classes."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from svmkit.kernels.gram import Gram
from svmkit.losses.base import Loss
from svmkit.losses.by_name import make_loss
from svmkit.problems.dual import DualQP
from svmkit.problems.targets import read_samples


class BoxQP(DualQP):
    """min 1/2 beta'Q beta - 1'beta over 0 <= beta_i <= upper_i, y'beta = 0: the dual of C-SVC with a free bias.

    Q_ij = y_i y_j k_ij + [i=j] ridge_i. The hinge has upper_i = C_i and no ridge, the squared hinge no upper bound and
    the ridge 1 / (2 C_i). The primal is 1/2 |w|^2 + sum_i C_i loss(1 - y_i (w'phi(x_i) + b)). A point is beta (m,).
    Attributes are those of `svmkit.problems.dual.DualQP`.

    Parameters
    ----------
    gram : Gram
        The kernel matrix of the m samples.
    y : ndarray of shape (m,)
        Labels, -1.0 or +1.0; both must occur.
    C : float or ndarray of shape (m,)
        Cost of a unit of loss, > 0.
    loss : str or Loss, default="hinge"
        The loss.

    Raises
    ------
    InputError
        If y, C or the loss is not valid.

    References
    ----------
    Chang, Lin (2011), LIBSVM: a library for support vector machines, section 2.1.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit import Gram, plugins, solve
    >>> from svmkit.kernels import Linear
    >>> from svmkit.problems import BoxQP
    >>> problem = BoxQP(Gram(Linear(), np.array([[0.0], [1.0], [2.0], [3.0]])), np.array([-1.0, -1.0, 1.0, 1.0]), 10.0)
    >>> round(solve(problem, plugins.build("solver", "smo")).certificate.primal, 2)
    2.0
    """

    name: ClassVar[str] = "BoxQP"

    def __init__(self, gram: Gram, y: np.ndarray, C: float | np.ndarray, *, loss: str | Loss = "hinge") -> None:
        self.loss = make_loss(loss, "classify")
        y, target, C = read_samples(self, y, C, gram.m, self.loss)
        super().__init__(gram, y, C, self.loss.terms(target, C))
