"""SVMRegressor: a scikit-learn regressor over any solver that regresses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from svmkit.data.prepare.features import as_features
from svmkit.errors import InputError
from svmkit.estimators.base import OnlyStreaming, check_names, column_or_1d, features_to_predict, options_by_name
from svmkit.estimators.estimator import SVMEstimator
from svmkit.tasks import Regression
from svmkit.training.settings import resolve
from svmkit.training.stream.regression import OnlineRegression


class SVMRegressor(RegressorMixin, SVMEstimator):
    """Support vector regression with a certificate: epsilon-SVR.

    It minimises 1/2 |w|^2 + C sum_i loss(max(0, |y_i - h(x_i)| - epsilon)). The bias is free with the solvers of
    LIBSVM's problem and regularised with those of LIBLINEAR's (`svmkit plugins` says which).

    Parameters
    ----------
    solver : str or Solver, default="auto"
        The solver; `svmkit plugins` lists their names.
    solver_options : dict of str to object, default=None
        Options of a solver that is given by its name; `svmkit plugins` lists them.
    C : float, default=1.0
        The weight of the summed losses, > 0.
    epsilon : float, default=0.1
        Half the width of the tube within which an error costs nothing, >= 0, in units of y.
    loss : str or Loss, default=None
        The loss, one of those that the solver takes: "epsilon_insensitive", "squared_epsilon_insensitive" (or "hinge",
        "squared_hinge"), "absolute_error", "squared_error", "huber", "quantile", "expectile", ...; None is that of the
        solver.
    tau, delta : float, default=None
        Options of a loss that is given by its name and has them, such as the quantile tau, 0 < tau < 1.
    nu : float, default=None
        Trains nu-SVR instead, by smo, fcsmo or auto: an upper bound of the fraction of samples outside of the tube, and
        a lower bound of that of support vectors, 0 < nu <= 1. Training finds epsilon; the parameter has no effect.
    kernel : str, Kernel or callable, default=None
        The kernel. A callable f(X, Z) returns the kernel values (rows of X, rows of Z). None is "rbf", or "linear" for
        a solver that needs it.
    gamma : {"scale", "auto", "msd"} or float, default="scale"
        The parameter gamma of the kernels that have it.
    degree : int, default=3
        The degree of the polynomial kernel.
    coef0 : float, default=0.0
        The constant of the polynomial and sigmoid kernels.
    sampler : str or Sampler, default=None
        Which points each step looks at, such as "full" or "uniform:59". None is the solver's own sampler.
    tol : float, default=1e-3
        The relative duality gap to reach.
    stop : str, Criterion or Stop, default=None
        A rule that replaces `tol`: text such as "abs:1e-6", or criteria joined with |.
    max_iter : int, default=None
        The most iterations.
    max_epochs : float, default=None
        The most passes over the training samples.
    time_limit : float, default=None
        The most seconds.
    max_support : int, default=None
        The most support vectors.
    scale : {"standard", "minmax", "maxabs"}, default=None
        The scaling that is applied to X first and kept with the model. On CSR, "standard" divides by the standard
        deviation and does not centre, and "minmax" is refused.
    memory : str or int, default="1GB"
        The most memory for kernel rows, in bytes or as text.
    n_threads : int, default=None
        The number of threads; None uses all.
    random_state : int, RandomState or None, default=0
        The seed of all random choices.
    warm_start : bool, default=False
        Whether `fit` starts at the support vectors of the last model that are among the samples. Samples may have
        changed or been added; the columns must be the same.
    verbose : int, default=0
        1 shows the progress of `fit` on stderr: a live line on a terminal or in a notebook, plain lines elsewhere.

    Attributes
    ----------
    model_ : SVMModel
        The model, which can be saved.
    n_features_in_ : int
        The number of columns of X.
    support_ : ndarray of shape (n_support,), int
        The rows of X that have a part in the model.
    support_vectors_, n_support_, dual_coef_ : ndarray
        The support vectors, their number (1,), and their coefficients d (1, n_support). Linear solvers keep weights
        instead.
    coef_ : ndarray of shape (1, n_features)
        The weights of the columns, after scaling, of a model with the linear kernel, whatever the solver.
    intercept_ : ndarray of shape (1,)
        The intercept.
    status_ : Status
        How training ended.
    n_iter_ : int
        The number of iterations.
    seconds_ : float
        The seconds of training, checks of the data included.
    gap_ : float or None
        The certified relative duality gap.
    bound_ : float or None
        The dual value, a lower bound on the optimum.
    certificate_ : list of Certificate
        The certificate.
    history_ : list of History
        The history.

    References
    ----------
    Chang, Lin: LIBSVM, a library for support vector machines. ACM TIST 2, 2011, section 2.4.
    Ho, Lin: Large-scale linear support vector regression. Journal of Machine Learning Research 13, 2012.

    Examples
    --------
    >>> from svmkit import SVMRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0]
    >>> SVMRegressor(kernel="linear", C=100.0, epsilon=0.01).fit(X, y).predict([[1.5]]).round(2).tolist()
    [1.5]
    """

    task = Regression()

    @options_by_name("C")
    def __init__(
        self,
        solver: Any = "auto",
        *,
        solver_options: Mapping[str, Any] | None = None,
        C: float = 1.0,
        epsilon: float = 0.1,
        loss: Any = None,
        tau: float | None = None,
        delta: float | None = None,
        nu: float | None = None,
        kernel: Any = None,
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        sampler: Any = None,
        tol: float = 1e-3,
        stop: Any = None,
        max_iter: int | None = None,
        max_epochs: float | None = None,
        time_limit: float | None = None,
        max_support: int | None = None,
        scale: str | None = None,
        memory: Any = "1GB",
        n_threads: int | None = None,
        random_state: Any = 0,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.solver = solver
        self.solver_options = solver_options
        self.C = C
        self.epsilon = epsilon
        self.loss = loss
        self.tau = tau
        self.delta = delta
        self.nu = nu
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.sampler = sampler
        self.tol = tol
        self.stop = stop
        self.max_iter = max_iter
        self.max_epochs = max_epochs
        self.time_limit = time_limit
        self.max_support = max_support
        self.scale = scale
        self.memory = memory
        self.n_threads = n_threads
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose

    def fit(self, X, y, sample_weight=None, validation=None) -> SVMRegressor:
        """Train on samples with targets. Ctrl-C keeps the best model so far, as for `SVMClassifier`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), float32 or float64
            The training samples. For a precomputed kernel, the kernel values (n_samples, n_samples).
        y : array-like of shape (n_samples,)
            The targets, finite numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            The weight of each sample, >= 0.
        validation : tuple (X, y), default=None
            Held-out samples on which `history_` measures R2 as the model grows.

        Returns
        -------
        SVMRegressor
            The fitted estimator.

        Raises
        ------
        InputError
            The data or parameters cannot be used. It is a ValueError.
        """
        self._train(X, column_or_1d(y), sample_weight=sample_weight, validation=validation)
        return self

    @OnlyStreaming
    def partial_fit(self, X, y, sample_weight=None) -> SVMRegressor:
        """Learn from one more block of samples in one pass, with a solver that learns from streams (sgd, folos, ...).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples, learned from in their order.
        y : array-like of shape (n_samples,)
            The targets.
        sample_weight : array-like of shape (n_samples,), default=None
            The weight of each sample, >= 0.

        Returns
        -------
        SVMRegressor
            The estimator, fitted to all samples so far; `gap_` is None.

        Raises
        ------
        InputError
            The block has another width or targets that are not finite; the model stays as it was.

        Notes
        -----
        The parameters of the first call hold for all calls. Its block settles gamma and scaling. Of the limits only
        `max_support` applies. After `fit`, or in a copy or pickle, learning continues from the model.
        """
        if self.nu is not None:
            raise InputError("no partial_fit with nu: a stream has no fractions to bound; leave nu out")
        online = getattr(self, "_online", None)
        fitted = getattr(self, "model_", None)
        y = column_or_1d(y)
        if fitted is None:
            check_names(self, X, reset=True)
        X = as_features(X) if fitted is None else features_to_predict(self, X)
        method = resolve(self._settings(), self.task)
        if online is None:
            online = OnlineRegression(
                solver=method.solver,
                kernel=method.kernel,
                C=self.C,
                epsilon=self.epsilon,
                scale=self.scale,
                memory=self.memory,
                seed=method.settings.seed,
                max_support=self.max_support,
                n_threads=self.n_threads,
                start=fitted,
            )
        self._learn(online, X, y, sample_weight, method)
        return self

    def predict(self, X) -> np.ndarray:
        """Predict the targets (n_samples,), float64, of samples X (n_samples, n_features)."""
        X = features_to_predict(self, X)
        return self.model_.predict(X, n_threads=self.n_threads)
