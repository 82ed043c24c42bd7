"""TubeQP: the dual of support vector regression over one signed weight a sample, with a free or a regularised bias."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from svmkit.kernels.gram import Gram
from svmkit.losses.base import Loss
from svmkit.losses.by_name import make_loss
from svmkit.problems.dual import DualQP
from svmkit.problems.targets import checked_epsilon, read_samples


class TubeQP(DualQP):
    """The dual of support vector regression with a free bias, LIBSVM's epsilon-SVR.

    min 1/2 d'K d - t'd + epsilon |d|_1 + 1/2 sum_i ridge_i d_i^2 over |d_i| <= upper_i, sum d = 0, where d_i is the
    difference beta_i - beta*_i of the two weights of a sample, of which at most one is positive at the optimum. The
    epsilon-insensitive loss has upper_i = C_i and no ridge, the squared one no upper bound and the ridge 1 / (2 C_i).
    The primal is 1/2 |w|^2 + sum_i C_i loss(t_i - w'phi(x_i) - b). A point is d (m,). Further
    attributes are those of `svmkit.problems.dual.DualQP`.

    Parameters
    ----------
    gram : Gram
        The kernel matrix of the m samples.
    t : ndarray of shape (m,)
        Targets, finite.
    C : float or ndarray of shape (m,)
        Cost of a unit of loss, > 0.
    epsilon : float, default=0.1
        Half the width of the tube without loss, in units of t, >= 0, for a loss that is given by its name and has one.
    loss : str or Loss, default="epsilon_insensitive"
        The loss; "hinge" stands for the epsilon-insensitive loss, and "squared_hinge" for its square.

    Attributes
    ----------
    t : ndarray of float64, shape (m,)
        Targets.
    epsilon : float
        That of the loss; 0.0 if it has none.

    Raises
    ------
    InputError
        If t, C, epsilon or the loss is not valid.

    References
    ----------
    Smola, Schoelkopf (2004), A tutorial on support vector regression, section 1.3; Chang, Lin (2011), LIBSVM: a library
    for support vector machines, section 2.4.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit import Gram
    >>> from svmkit.kernels import Linear
    >>> from svmkit.problems import TubeQP
    >>> problem = TubeQP(Gram(Linear(), np.array([[0.0], [1.0], [2.0]])), np.array([0.0, 1.0, 2.0]), 10.0, 0.1)
    >>> problem.certificate(np.zeros(3)).dual
    0.0
    """

    name: ClassVar[str] = "TubeQP"
    task: ClassVar[str] = "regress"

    def __init__(
        self,
        gram: Gram,
        t: np.ndarray,
        C: float | np.ndarray,
        epsilon: float = 0.1,
        *,
        loss: str | Loss = "epsilon_insensitive",
    ) -> None:
        self.loss = make_loss(loss, "regress", epsilon=checked_epsilon(epsilon))
        y, self.t, C = read_samples(self, t, C, gram.m, self.loss)
        super().__init__(gram, y, C, self.loss.terms(self.t, C))
        self.epsilon = float(getattr(self.loss, "epsilon", 0.0))


class BiasedTubeQP(TubeQP):
    """The dual of support vector regression with a regularised bias: K + 1 for K, and no equality constraint.

    The primal is 1/2 |w|^2 + 1/2 b^2 + sum_i C_i loss(t_i - w'phi(x_i) - b), and b = sum d at the optimum: LIBLINEAR's
    problem for the linear kernel. Parameters and attributes are those of `TubeQP`.

    References
    ----------
    Ho, Lin (2012), Large-scale linear support vector regression, section 2.

    Examples
    --------
    >>> import numpy as np
    >>> from svmkit import Gram
    >>> from svmkit.kernels import Linear
    >>> from svmkit.problems import BiasedTubeQP
    >>> problem = BiasedTubeQP(
    ...     Gram(Linear(), np.array([[0.0], [1.0]])), np.array([0.0, 1.0]), 10.0, 0.1, loss="squared_hinge"
    ... )
    >>> problem.certificate(np.zeros(2)).dual
    0.0
    """

    name: ClassVar[str] = "BiasedTubeQP"
    bias: ClassVar[float] = 1.0
