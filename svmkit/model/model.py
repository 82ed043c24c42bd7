"""SVMModel: plain arrays and a kernel, which predict classes or quantities."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from svmkit.data import Dataset, Encoding, Ranks
from svmkit.data.prepare.features import Features, as_features, is_sparse, pad_or_refuse_columns, require_finite
from svmkit.data.prepare.imputing import Imputing
from svmkit.data.prepare.labels import as_labels, as_targets
from svmkit.data.prepare.preprocessing import Preprocessing
from svmkit.data.prepare.scaling import Scaling
from svmkit.errors import InputError, SvmkitWarning
from svmkit.kernels.engines import device_for, engine_for, on_device
from svmkit.kernels.extent import Extent
from svmkit.kernels.functions import Kernel, Precomputed
from svmkit.losses.base import Loss
from svmkit.model import file
from svmkit.model.calibration import Calibration, has_own_odds
from svmkit.model.conformal import Conformal, CrossConformal
from svmkit.model.layout import holds_weights
from svmkit.model.machines import (
    ClassFunctions,
    ClassPairs,
    LogProbabilities,
    Machine,
    OneFunction,
    Outputs,
    round_probabilities,
)
from svmkit.problems.certificate import Certificate
from svmkit.problems.schemes import SCHEMES
from svmkit.runtime import mapping, threads
from svmkit.scoring import operating
from svmkit.tasks import task_named

if TYPE_CHECKING:
    from svmkit.explain import Explanation

ROWS = 16384, 256  # most and fewest rows of X that are predicted at a time
WIDE = 1 << 20, 8  # columns, and columns per stored entry, beyond which empty columns are left out of products
MOST_WEIGHTS = 64 << 20  # weights that a model may have even if its vectors store fewer entries
PART_BYTES = 32 << 20  # most bytes of these rows, and of their decisions, above the fewest rows
WITHOUT = (
    "the model has no probabilities: train it with a calibration (svmkit train --calibrate sigmoid), or with the "
    "logistic loss (--loss logistic)"
)


def _cut_short(names: Sequence[str]) -> str:
    """Return the first five names joined by commas, and the number of names if there are more."""
    return ", ".join(names[:5]) + (f", ... ({len(names)})" if len(names) > 5 else "")


@dataclass(frozen=True, repr=False)
class SVMModel:
    """A trained model as plain arrays: a classifier, for two classes or more, or a regressor.

    The decision function of each class pair is h(x) = sum_i coef_i k(x_i, x) + intercept. A positive decision speaks
    for `classes[1]` where there are two classes, as in scikit-learn, and for the first class of the pair where there
    are more. Where each class has a decision function instead (`has_class_scores`), the largest one names the class. In
    regression there is one function h, whose values are the predictions.

    Attributes
    ----------
    kernel : Kernel
        The kernel, with numbers for all of its parameters.
    classes : ndarray of shape (n_classes,)
        The labels in sorted order, numbers or text; none in regression.
    vectors : ndarray or csr_array of shape (n_sv, width), float32 or float64
        The support vectors, preprocessed, sorted by class. For a precomputed kernel their row numbers (n_sv,).
    n_support : ndarray of shape (n_classes,), int
        The number of support vectors of each class; (1,) in regression.
    coef : ndarray of shape (n_classes - 1, n_sv), float64
        The coefficients of each vector against the other classes, in the layout of LIBSVM and scikit-learn: a vector
        of class a has its coefficient against class b in row b - 1 for a < b, and in row b for b < a. With a decision
        for each class (n_classes, n_sv), in regression (1, n_sv).
    intercept : ndarray of shape (n_pairs,), float64
        The intercept of each class pair, in the order (0, 1), (0, 2), ..., (1, 2), ...; (n_classes,) with a
        decision for each class, (1,) in regression.
    n_features : int
        The number of columns of X.
    preprocessing : Preprocessing, default=Preprocessing()
        What happens before the kernel: how the columns of a table became X, then imputing and scaling of X, which have
        `width` columns as their result: `n_features`, and one more for each column whose holes are marked.
    about : dict, default={}
        Plain values that are saved with the model, such as the solver, C and the certified gap.
    task : {"classify", "regress", "outliers", "multilabel"}, default="classify"
        What the model predicts: classes, quantities, -1 for outliers and 1 for all others, or 1 for each label that a
        row has and 0 for the others.
    multiclass : {"ovo", "ovr", "crammer_singer", "multinomial"}, default="ovo"
        The decisions of more than two classes: one for each class pair, for each class against the rest, or for each
        class in the machine of Crammer and Singer, or in multinomial logistic regression.
    calibration : Calibration, default=None
        What turns decisions into probabilities; labels are then the classes of the highest probability.
    outputs : tuple of str, default=()
        The names of several outputs, such as "tau=0.1": each has a row of `coef` (n_outputs, n_sv) and an `intercept`
        (n_outputs,), and predictions have a column for each. None where there is one prediction a row.
    non_crossing : bool, default=False
        Whether `predict` sorts the outputs of each row, so that no quantile lies above a later one.
    conformal : Conformal or CrossConformal, default=None
        The misfits of held-out rows, and the models of folds perhaps, of which `predict_sets` makes sets.

    Examples
    --------
    >>> from svmkit import SVMModel, fit
    >>> from svmkit.kernels import RBF
    >>> model = fit([[0.0], [1.0], [2.0], [3.0]], ["low", "low", "high", "high"], kernel=RBF(1.0)).model
    >>> model.save("levels.model")
    >>> SVMModel.load("levels.model").predict([[0.5], [2.5]]).tolist()
    ['low', 'high']
    """

    kernel: Kernel
    classes: np.ndarray
    vectors: Any
    n_support: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray
    n_features: int
    preprocessing: Preprocessing = field(default_factory=Preprocessing)
    about: dict[str, Any] = field(default_factory=dict)
    task: str = "classify"
    multiclass: str = "ovo"
    calibration: Calibration | None = None
    outputs: tuple[str, ...] = ()
    non_crossing: bool = False
    conformal: Conformal | CrossConformal | None = None

    def __repr__(self) -> str:
        """Return what the model is in a few lines, whatever the number of its vectors."""
        about, steps = self.about, self.preprocessing
        labels, rows = [str(label) for label in self.classes], self.vectors.shape[0]
        storage = f"{'CSR' if sp.issparse(self.vectors) else 'dense'} {self.vectors.dtype}"
        gap = "" if about.get("gap") is None else f", certified gap {about['gap']:.1e}"
        lines = {
            "task": ", ".join([self.task, *([self.multiclass] if len(labels) > 2 else [])]),
            "classes": _cut_short(labels),
            "outputs": _cut_short(self.outputs),
            "kernel": repr(self.kernel),
            "vectors": f"{rows:,} of {self.n_features:,} columns, {storage}",
            "columns": ", ".join(
                [
                    *(["encoded from a table"] if steps.encoding else []),
                    *([f"holes filled by {steps.imputing.kind}"] if steps.imputing else []),
                    *([f"scaled by {steps.scaling.kind}"] if steps.scaling else []),
                ]
            ),
            "calibration": self.calibration.kind if self.calibration else "",
            "trained by": f"{about['solver']}, C={about.get('C')}" if "solver" in about else "",
            "ended as": f"{about['status']}{gap}" if "status" in about else "",
        }
        return "\n".join(["SVMModel", *(f"  {name:<12} {value}" for name, value in lines.items() if value)])

    @property
    def regresses(self) -> bool:
        """Whether the predictions are quantities."""
        return task_named(self.task).has_targets

    @property
    def finds_outliers(self) -> bool:
        """Whether the model detects outliers (-1 for them, +1 for all others); earlier files do not say so."""
        return not task_named(self.task).is_supervised or (
            self.classes.tolist() == [-1, 1] and int(self.n_support[0]) == 0
        )

    @property
    def has_one_function(self) -> bool:
        """Whether one decision function predicts: in regression, for two classes, and for outliers."""
        return len(self.intercept) == 1

    @property
    def levels(self) -> tuple[Loss, ...]:
        """The losses of the outputs of a model of several levels, such as those of quantiles; else none."""
        from svmkit.model.objective import read_objective

        if not (self.outputs and self.regresses):
            return ()
        levels = read_objective(self.about, self.kernel, self.task).loss.levels
        return levels if len(levels) == len(self.outputs) else ()

    @property
    def has_class_scores(self) -> bool:
        """Whether each of more than two classes has a decision function, the largest of which names the class."""
        return self.multiclass != "ovo" and not self.has_one_function

    @property
    def is_joint(self) -> bool:
        """Whether all classes were trained as one problem, that of Crammer and Singer or the multinomial one."""
        return SCHEMES[self.multiclass].is_joint

    @cached_property
    def machine(self) -> Machine:
        """How the arrays define decision functions, and how decisions determine the classes."""
        kind: type[Machine] = Outputs if self.outputs else OneFunction if self.has_one_function else ClassPairs
        kind = ClassFunctions if self.has_class_scores else kind
        if self.has_class_scores and SCHEMES[self.multiclass].by_probability and has_own_odds(self.calibration):
            kind = LogProbabilities
        return kind(self.vectors, self.n_support, self.coef, self.intercept)

    @property
    def trained_pairs(self) -> np.ndarray:
        """The indices of the decisions that were trained, int64, ascending; the others vote for no class."""
        return self.machine.trained

    @cached_property
    def _extent(self) -> Extent:
        return Extent.measure(self.kernel, self.vectors)

    @property
    def encoding(self) -> Encoding | None:
        """How the columns of a table became X; None for other data."""
        return self.preprocessing.encoding

    @property
    def imputing(self) -> Imputing | None:
        """How holes of X are filled; None for a model that refuses them."""
        return self.preprocessing.imputing

    @property
    def scaling(self) -> Scaling | None:
        """How X is scaled once its holes are filled; None for no scaling."""
        return self.preprocessing.scaling

    @property
    def relevance(self) -> np.ndarray | None:
        """The learnt weights of the columns after scaling, (width,), of which the largest is 1; None without any."""
        weights = None if self.scaling is None else self.scaling.weights
        return None if weights is None else weights / weights.max()

    @property
    def width(self) -> int:
        """The number of columns of preprocessed X."""
        return self.preprocessing.width(self.n_features)

    @property
    def weights(self) -> np.ndarray:
        """Weights of the columns, (n_decisions, width): decisions are X @ weights.T + intercept on the preprocessed X.

        Raises
        ------
        InputError
            The kernel is not linear, or there would be more than 67 million weights and the vectors store fewer
            numbers.
        """
        if self.kernel.name != "linear":
            raise InputError(f"only a model with the linear kernel has weights of the columns, not {self.kernel.name}")
        n_weights, stored = len(self.intercept) * self.width, self.vectors.size
        if n_weights > max(MOST_WEIGHTS, stored):
            raise InputError(
                f"the weights of {self.width:,} columns would take {8 * n_weights / 2**30:,.1f} GiB, and the vectors "
                f"of the model hold {stored:,} numbers: train or import it with fewer columns"
            )
        return self.machine.weights

    @property
    def holds_weights(self) -> bool:
        """Whether `vectors` are the weights of a linear model, which keeps no training rows."""
        return holds_weights(self.kernel, self.vectors, len(self.intercept))

    def widened(self, n_features: int) -> SVMModel:
        """Return the model for samples with more features, which were 0 in all training samples.

        It has the decisions of a model that was trained on these samples with columns of zeros: new features count in
        distances, and their weight is 0. Scaling leaves them unchanged.

        Parameters
        ----------
        n_features : int
            The number of columns of X, at least that of training.

        Raises
        ------
        InputError
            The model has more features, belongs to a table, imputes, or has a precomputed kernel.
        """
        if n_features == self.n_features:
            return self
        if n_features < self.n_features or self.encoding is not None or isinstance(self.kernel, Precomputed):
            raise InputError(f"a model of {self.n_features} features cannot be used for {n_features}")
        vectors = pad_or_refuse_columns(self.vectors, n_features, pad=True)
        steps = self.preprocessing.widen(n_features)
        conformal = None if self.conformal is None else self.conformal.widen(n_features)
        return replace(self, vectors=vectors, preprocessing=steps, n_features=n_features, conformal=conformal)

    def decision_function(self, X, *, n_threads: int | None = None, device: str | None = None) -> np.ndarray:
        """Compute the decisions, at margins of -1 and +1; in regression the predictions.

        Kernel values are computed in float64, shared by all class pairs and never stored: besides X and the result,
        memory is needed for a part of the rows only, whatever their number and the number of vectors.

        Parameters
        ----------
        X : array-like, sparse matrix or table of shape (n_samples, n_features), float32 or float64
            The samples; NaN is a hole for a model that imputes. For a precomputed kernel, their kernel values with all
            training samples. A table (pandas, polars, pyarrow) of a model of a table has its columns as they are,
            texts and dates, by name in any order; others in it are left out.
        n_threads : int or None, default=None
            The number of threads; None uses all.
        device : str, default=None
            Where kernel values are computed, as for `svmkit.fit`.

        Returns
        -------
        ndarray of shape (n_samples,) for two classes and in regression, else (n_samples, n_decisions), float64
            The decisions, one for each class pair, class or output. For two classes, > 0 means `classes[1]`.

        Raises
        ------
        InputError
            X has another number of columns, values that are missing or infinite, or too large for the kernel.
        """
        if (known := self._decide_few(X, n_threads, device)) is not None:
            out = known
            if known.shape[1] < len(self.intercept):
                out = np.zeros((len(known), len(self.intercept)))
                out[:, self.machine.trained] = known
            return out[:, 0] if self.has_one_function else out
        X, device = self.as_rows(X), device_for(device, X)
        out = np.zeros((X.shape[0], len(self.intercept)))
        with on_device(device), threads.using(n_threads):
            for rows in self._parts(X, len(self.intercept)):
                out[rows, self.machine.trained] = self._decide(X, rows)
        return out[:, 0] if self.has_one_function else out

    def take_decisions(self, X: Any) -> np.ndarray | None:
        """Return the decisions (n_samples,) of the training features on disk if the certificate has computed them, else
        None; they are handed out once.
        """
        is_plain = self.kernel.name == "linear" and self.has_one_function and self.calibration is None
        if not (is_plain and mapping.is_mapped(X)):
            return None
        return mapping.take_decisions(X, self.machine.weights[0], float(self.intercept[0]))

    def predict(self, X, *, n_threads: int | None = None, device: str | None = None) -> np.ndarray:
        """Predict labels or quantities.

        With more than two classes, the class pairs vote and the sum of the margins breaks ties; where each class has a
        decision function, the largest decision wins.

        With a calibration, labels are the classes of the highest probability. Decisions are computed for a part of the
        rows at a time, so that this takes less memory than `labels` of all decisions.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            As for `decision_function`.
        n_threads : int or None, default=None
            The number of threads; None uses all.
        device : str, default=None
            Where kernel values are computed, as for `svmkit.fit`.

        Returns
        -------
        ndarray of shape (n_samples,), with several outputs (n_samples, n_outputs)
            The labels, of the type of `classes`; in regression float64.

        Raises
        ------
        InputError
            X has another number of columns, values that are missing or infinite, or too large for the kernel.
        """
        if self.regresses or self.outputs:
            return self.labels(self.decision_function(X, n_threads=n_threads, device=device))
        if (known := self._decide_few(X, n_threads, device)) is not None:
            return self.classes[self._codes(known)]
        X, device = self.as_rows(X), device_for(device, X)
        codes = np.empty(X.shape[0], dtype=np.int64)
        with on_device(device), threads.using(n_threads):
            for rows in self._parts(X, len(self.machine.trained)):
                codes[rows] = self._codes(self._decide(X, rows))
        return self.classes[codes]

    def labels(self, decision: np.ndarray) -> np.ndarray:
        """Return the labels that decisions stand for.

        Parameters
        ----------
        decision : ndarray of shape (n_samples,) or (n_samples, n_decisions), float64
            As `decision_function` returns them.

        Returns
        -------
        ndarray of shape (n_samples,), with several outputs (n_samples, n_outputs)
            As `predict` returns them: in regression the decisions themselves, each row sorted if the model is
            `non_crossing`. This is the rearrangement of Chernozhukov, Fernandez-Val, Galichon 2010, which is never
            further from the true quantiles.
        """
        if self.regresses:
            return np.sort(decision, axis=1) if self.non_crossing else decision
        if self.outputs:
            return (decision > 0.0).astype(np.int64)
        return self.classes[self._codes(self._select_trained(decision))]

    def scores(self, decision: np.ndarray) -> np.ndarray:
        """Return the scores (n_samples, n_classes) of more than two classes.

        They are the votes of the class pairs with a fraction that breaks ties, or the decisions of the classes.

        Parameters
        ----------
        decision : ndarray of shape (n_samples, n_pairs) or (n_samples, n_classes)
            The decisions of `decision_function`.
        """
        return self.machine.scores(self._select_trained(decision))

    def predict_proba(self, X, *, n_threads: int | None = None, device: str | None = None) -> np.ndarray:
        """Predict the probabilities of the classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            As for `decision_function`.
        n_threads : int or None, default=None
            The number of threads; None uses all.
        device : str, default=None
            Where kernel values are computed, as for `svmkit.fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), float64
            A column for each of `classes`; rows sum to 1. Of several labels a row, the probability of each label.

        Raises
        ------
        InputError
            The model has no calibration, or X cannot be used.
        """
        return round_probabilities(np.exp(self.predict_log_proba(X, n_threads=n_threads, device=device)))

    def predict_sets(
        self, X, *, alpha: float | None = None, n_threads: int | None = None, device: str | None = None
    ) -> np.ndarray:
        """Predict sets that contain the true answer of at least 1 - alpha of new rows, if these are exchangeable with
        the training rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            As for `decision_function`.
        alpha : float, default=None
            The share of the rows that sets may miss, in (0, 1); None takes that of the training.
        n_threads : int or None, default=None
            The number of threads; None uses all.
        device : str, default=None
            As for `decision_function`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), bool; of quantities (n_samples, 2) or (n_samples, n_outputs, 2)
            Which of `classes` are in the set; or both ends of an interval, float64, infinite where too few rows were
            held out for this alpha. A detector of outliers has either -1 or 1 in a set, and alpha bounds the share of
            normal rows that are called outliers.

        Raises
        ------
        InputError
            The model has no sets, or X or alpha cannot be used.
        """
        sets = task_named(self.task).sets
        if self.conformal is None or sets is None:
            raise InputError(
                "the model has no sets: train it with a share of rows that they may miss (conformal=0.1, or svmkit "
                "train --conformal 0.1)"
            )
        rows = self.as_rows(X) if self.conformal.parts else X  # the models of the folds have no encoding of a table
        return self.conformal.select(self, sets, rows, alpha, n_threads=n_threads, device=device)

    def predict_for_cost(
        self, X, *, fn: float, fp: float, n_threads: int | None = None, device: str | None = None
    ) -> np.ndarray:
        """Predict labels of two classes by the threshold of least cost on the held-out rows of the training.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            As for `decision_function`.
        fn, fp : float
            The cost, >= 0, of a positive row that is missed, and of another row that is taken for positive. The
            positive class is the rarer one of the training rows, or 1 of the labels 0 or -1 and 1.
        n_threads : int or None, default=None
            The number of threads; None uses all.
        device : str, default=None
            As for `decision_function`.

        Returns
        -------
        ndarray of shape (n_samples,)
            The labels.

        Raises
        ------
        InputError
            The model was trained without a calibration, or not of two classes; or a cost cannot be used.
        """
        positive, threshold = operating.threshold_for(self, operating.Cost.from_text(f"fn={fn},fp={fp}"))
        decision = self.decision_function(X, n_threads=n_threads, device=device)
        return self.classes[operating.codes_above(self, decision, positive, threshold)]

    def predict_log_proba(self, X, *, n_threads: int | None = None, device: str | None = None) -> np.ndarray:
        """Predict the logarithms of `predict_proba`, which are finite where a probability is too small for a number.

        Parameters
        ----------
        X, n_threads, device : optional
            As for `predict_proba`.
        """
        self.require_calibration()
        X, device = self.as_rows(X), device_for(device, X)
        out = np.empty((X.shape[0], len(self.outputs) or len(self.classes)))
        with on_device(device), threads.using(n_threads):
            for rows in self._parts(X, len(self.intercept)):
                out[rows] = self._log_probabilities(self._decide(X, rows))
        return out

    def probabilities(self, decision: np.ndarray) -> np.ndarray:
        """Return the probabilities of the classes that decisions stand for.

        Parameters
        ----------
        decision : ndarray of shape (n_samples,) or (n_samples, n_decisions), float64
            As `decision_function` returns them.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), float64
            As `predict_proba` returns them.

        Raises
        ------
        InputError
            The model has no calibration.
        """
        self.require_calibration()
        return round_probabilities(np.exp(self._log_probabilities(self._select_trained(decision))))

    def log_odds(self, decision: np.ndarray) -> np.ndarray:
        """Return decisions that agree with the labels of a model with a calibration.

        Parameters
        ----------
        decision : ndarray of shape (n_samples,) for two classes, else (n_samples, n_pairs), float64
            The decisions of `decision_function`.

        Returns
        -------
        ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes), float64
            The logarithm of the odds of `classes[1]`, or of the probability of each class.
        """
        self.require_calibration()
        logs = self._log_probabilities(self._select_trained(decision))
        if not self.has_one_function:
            return logs
        assert self.calibration is not None  # its odds keep the digits that a probability near 1 has lost
        return np.where(logs[:, 0] == logs[:, 1], 0.0, self.calibration.log_odds(decision[:, None])[:, 0])

    def require_calibration(self) -> None:
        """Raise InputError unless the model has probabilities."""
        if self.calibration is None:
            task = task_named(self.task)
            without = f"{task.machine} has no probabilities: ask for predictions"
            raise InputError(without if task.has_targets else WITHOUT)

    def evaluate(self, X, y, *, metric: str | None = None, n_threads: int | None = None) -> dict[str, Any]:
        """Score the predictions for some rows, as `svmkit evaluate --json` does.

        Parameters
        ----------
        X : array-like, sparse matrix or table of shape (n_samples, n_features)
            The rows, as for `decision_function`.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their labels or targets; of a ranker `svmkit.data.Ranks`, too.
        metric : str or None, default=None
            A further metric: the name of a scorer of scikit-learn, such as "matthews_corrcoef"; for a ranker
            concordance, ndcg, ndcg@5, kendall_tau or auc.
        n_threads : int or None, default=None
            The number of threads; None uses all.

        Returns
        -------
        dict
            The scores by name, such as test_accuracy, balanced_accuracy, roc_auc and confusion of classes, test_r2,
            test_rmse and test_mae of quantities; and predict_s, the seconds that predicting took. For a model with
            prediction sets also "sets": how often they contain the true answer. With `metric` also "metric": its
            name, the positive class if it has one, the reason for this class, and its value "test".

        Raises
        ------
        InputError
            The rows do not fit the model, y lacks the answer for one of them, or the metric is not known, or measures
            something else.

        Examples
        --------
        >>> import numpy as np
        >>> from svmkit import fit
        >>> X, y = np.array([[1.0], [-1.0]]), np.array(["a", "b"])
        >>> fit(X, y).model.evaluate(X, y)["test_accuracy"]
        1.0
        """
        task, rows = task_named(self.task), self.as_rows(X)
        given = y if isinstance(y, Ranks) else Ranks(self.as_truth(y, rows.shape[0]))
        if len(given.values) != rows.shape[0]:
            raise InputError(f"y must hold an answer for each of the {rows.shape[0]} rows, not {len(given.values)}")
        data = Dataset(rows, given.values, "X", task=self.task, groups=given.groups, observed=given.observed)
        evaluated, cover = task.evaluate(self, data, n_threads), task.cover(self, data, n_threads)
        result = {name: value for name, value in evaluated.result().items() if name != "data"}
        result["predict_s"] = evaluated.seconds
        if metric is not None:
            chosen, value = evaluated.by_metric(metric)
            result["metric"] = chosen.about() | {"test": value}
        return result if cover is None else {**result, "sets": cover.result()}

    def certify(
        self,
        X,
        y=None,
        *,
        C: float | None = None,
        loss: str | Loss | None = None,
        bias: str | float | None = None,
        sample_weight: Any = None,
        dual: np.ndarray | None = None,
    ) -> list[Certificate]:
        """Certify the model on some rows: bound how far its objective is from the optimum on them.

        P is computed from the definition of the loss. D is known where dual weights are: on the training rows from the
        coefficients, for weights of columns from the decisions, else from `dual`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows, as for `decision_function`. With a precomputed kernel the training rows.
        y : array-like of shape (n_samples,), default=None
            Their labels, each of `classes`, or targets; None for outliers. Of a ranker `svmkit.data.Ranks`, too.
        C : float, default=None
            The cost of a unit of loss; None takes that of the training, which `about` records.
        loss : str or Loss, default=None
            The loss; None takes that of the training, or the default of its solver where the model does not record it.
        bias : {"free"} or float, default=None
            "free", or the value of the column of a bias that is part of the weights, 0 for none; None takes that of
            the training.
        sample_weight : array-like of shape (n_samples,), default=None
            The weight of each row, that of its class included; a row of weight 0 takes no part. None is 1.
        dual : ndarray of shape (n_samples,) or (n_samples, n_decisions), default=None
            Signed dual weights to prove D with; they are clipped to their bounds.

        Returns
        -------
        list of Certificate
            One for each decision, or one for one problem of all classes; a label that all rows have, or none,
            has none. Without dual weights `dual` and `gap`
            are None, and `rounding` bounds the relative rounding error of P.

        Raises
        ------
        InputError
            The rows do not fit the model, or what it minimised is not known.

        Examples
        --------
        >>> import numpy as np
        >>> from svmkit import fit
        >>> from svmkit.kernels import Linear
        >>> X, y = np.array([[1.0], [-1.0]]), np.array([1, -1])
        >>> (certificate,) = fit(X, y, solver="smo", kernel=Linear()).model.certify(X, y)
        >>> round(certificate.primal, 9), round(certificate.dual, 9)
        (0.5, 0.5)
        """
        from svmkit.model import certify  # here: problems take long to import, and few models are certified
        from svmkit.model.objective import bias_column, lacking_weights, read_objective

        if sample_weight is None and (lacking := lacking_weights(self.about)):
            warnings.warn(lacking, SvmkitWarning, stacklevel=2)
        X = self.as_rows(X)
        weight = np.ones(X.shape[0]) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        if weight.shape != (X.shape[0],) or not (np.isfinite(weight).all() and (weight >= 0.0).all()):
            raise InputError(f"sample_weight must hold a finite number >= 0 for each of the {X.shape[0]} rows")
        used = np.flatnonzero(weight)
        if not len(used):
            raise InputError("sample_weight is 0 for all rows: there is no objective to certify")
        codes, targets = self._answers(y, X.shape[0], used)
        given = X[used]
        X = self.preprocessing.apply(given)
        if self.finds_outliers:
            nu, slacks = self.about.get("nu"), self.about.get("loss", "hinge") if loss is None else str(loss)
            if nu is None:
                raise InputError("the model does not say its nu")
            samples = certify.Samples(X, codes, targets, weight[used])
            return [certify.certify_one_class(self.kernel, self.machine, samples, float(nu), slacks)]
        cost = self.about.get("C", 1.0 if "nu" in self.about else None) if C is None else C
        if cost is None:
            raise InputError("the model does not say its C: give C=NUMBER")
        if not (math.isfinite(cost) and cost > 0.0):
            raise InputError(f"C must be a finite number > 0, not {cost!r}")
        if dual is not None:
            dual, shape = np.asarray(dual, dtype=np.float64), (len(weight), len(self.intercept))
            if dual.shape != shape and not (shape[1] == 1 and dual.shape == shape[:1]):
                raise InputError(f"dual must hold a weight for each row and decision, {shape}, not shape {dual.shape}")
            dual = dual.reshape(shape)[used]
        samples = certify.Samples(X, codes, targets, float(cost) * weight[used], dual)
        if self.is_joint:
            known = self.about.get("minimised", {}).get("bias", 1.0) if bias is None else bias
            column = None if known is None else bias_column(known)
            return [certify.JOINT[self.multiclass](self.machine, samples, column)]
        objective = read_objective(self.about, self.kernel, task_named(self.task).loss_task, loss, bias)
        if task_named(self.task).has_groups:
            return [certify.certify_ranking(self.kernel, self.machine, samples, objective.loss)]
        settled = self.about if "nu" in self.about and C is None else None
        return certify.certify(self.kernel, self.machine, samples, objective, settled)

    def explain(
        self,
        X,
        background=None,
        *,
        players: Mapping[str, Sequence[int | str]] | None = None,
        n_background: int | None = 100,
        nodes: int | None = None,
        rounds: int = 2,
        seed: int = 0,
        n_threads: int | None = None,
    ) -> Explanation:
        """Explain decisions: what each column contributes to them, exactly.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows to explain, as for `decision_function`.
        background : array-like or sparse matrix of shape (n_rows, n_features), default=None
            The rows with which they are compared, such as those of training; None takes X. One row is a baseline.
        players : mapping of str to sequence of int or str, default=None
            Groups of columns whose contribution is computed as one, by name. The categories of a column always form a
            group.
        n_background : int or None, default=100
            The largest number of background rows, drawn at random if there are more; None takes all.
        nodes : int, default=None
            The largest number of quadrature nodes; None takes as many as are exact, or as keep the error below 1e-9.
        rounds : int, default=2
            For kernels other than rbf, laplacian, linear and poly, whose Shapley values are sampled: the number of
            orders of the columns that are drawn for each pair of rows.
        seed : int, default=0
            The seed of the rows and orders that are drawn.
        n_threads : int or None, default=None
            The number of threads; None uses all.

        Returns
        -------
        Explanation

        Raises
        ------
        InputError
            The kernel is a precomputed matrix, or the rows do not fit.

        Examples
        --------
        >>> import numpy as np
        >>> from svmkit import fit, load
        >>> data = load("iris")
        >>> model = fit(data.X, data.y).model
        >>> explanation = model.explain(data.X[:2], background=data.X)
        >>> explanation.values.shape, explanation.functions
        ((2, 4, 3), ('setosa', 'versicolor', 'virginica'))
        """
        from svmkit.explain import explain  # here: few models are explained

        names = getattr(X, "columns", None)
        rows = self.as_rows(X)
        others = None if background is None else self.as_rows(background)
        given: dict[str, Any] = {
            "players": players,
            "n_background": n_background,
            "nodes": nodes,
            "rounds": rounds,
            "seed": seed,
        }
        return explain(self, rows, others, names=names, n_threads=n_threads, **given)

    def _answers(self, y: Any, n_samples: int, used: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the class of each used row, and the targets of regression, else none."""
        if self.finds_outliers:
            return np.ones(len(used), dtype=np.int64), np.empty(0)
        if task_named(self.task).has_groups:
            return np.zeros(len(used), dtype=np.int64), task_named(self.task).encode_truth(y, n_samples).values[used]
        y = self.as_truth(y, n_samples)
        if self.regresses:
            return np.zeros(len(used), dtype=np.int64), y[used]
        if self.outputs:
            return np.zeros(len(used), dtype=np.int64), np.where(y[used] > 0, 1.0, -1.0)
        place = {label: code for code, label in enumerate(self.classes.tolist())}
        codes = np.array([place.get(label, -1) for label in y.tolist()], dtype=np.int64)
        if (codes < 0).any():
            raise InputError(f"y holds {y.tolist()[int(np.argmin(codes))]!r}, which is none of the model's classes")
        return codes[used], np.empty(0)

    def save(self, path: str | os.PathLike) -> None:
        """Write the model to a file, atomically.

        Parameters
        ----------
        path : str or path
            The file; an existing one is replaced.

        Raises
        ------
        InputError
            The kernel is not registered by name, or the file cannot be written.
        """
        file.save_model(path, vars(self))

    @classmethod
    def load(cls, path: str | os.PathLike) -> SVMModel:
        """Read a model that `save` wrote.

        Parameters
        ----------
        path : str or path-like
            The file.

        Raises
        ------
        InputError
            The file is not a model, it is damaged, or its kernel is not installed.
        """
        return cls(**file.load_model(path, cls))

    @classmethod
    def from_sklearn(cls, estimator: Any) -> SVMModel:
        """Return the model of a fitted estimator of scikit-learn, without training.

        Parameters
        ----------
        estimator : SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC, LinearSVR or Pipeline
            A fitted estimator, or a pipeline that ends with one and has a StandardScaler, MinMaxScaler or MaxAbsScaler
            in front of it. The probabilities of `SVC(probability=True)` become the calibration.

        Raises
        ------
        InputError
            The estimator is not fitted, is not one of these, or has a callable kernel.
        """
        from svmkit.model.scikit_learn import from_sklearn  # here: few models are imported

        return cls(**from_sklearn(estimator))

    def attach_encoding(self, encoding: Encoding | None) -> SVMModel:
        """Return the model with the encoding that turns the columns of a table into features.

        Parameters
        ----------
        encoding : Encoding or None
            The columns and their categories; None for data without a table.
        """
        return replace(self, preprocessing=replace(self.preprocessing, encoding=encoding))

    def as_rows(self, X: Any) -> Features:
        """Return rows, or a table of the model's columns, as features before preprocessing; NaN is a hole.

        Parameters
        ----------
        X : array-like, sparse matrix or table of shape (n_samples, n_features)
            As for `decision_function`.

        Raises
        ------
        InputError
            X has another number of columns, infinity, or NaN where the model does not impute.
        """
        if not isinstance(X, np.ndarray | list) and not is_sparse(X):
            from svmkit.data.tables.in_memory import as_frame, encode_frame  # here: few rows come in tables

            frame = as_frame(X)
            X = X if frame is None else encode_frame(frame, self.encoding, holes=self.preprocessing.takes_holes)
        X = as_features(X)
        X = pad_or_refuse_columns(X, self.n_features, name="SVMModel", pad=False)
        require_finite(X, holes=self.preprocessing.takes_holes)
        return X

    def as_truth(self, y: Any, n_samples: int) -> np.ndarray:
        """Return the answers of rows: labels, or numbers with a column for each output that has answers of its own.

        Parameters
        ----------
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The labels, of any classes, or the targets.
        n_samples : int
            The number of rows.

        Raises
        ------
        InputError
            y lacks the answer for a row, or has another shape.
        """
        task, columns = task_named(self.task), 1 if self.levels else max(len(self.outputs), 1)
        if not (task.has_targets or task.has_groups or self.outputs):
            return as_labels(y, n_samples=n_samples)
        truth = as_targets(y, n_samples=n_samples, varied=False, several=columns > 1)
        if truth.size != n_samples * columns:
            raise InputError(f"y must have a column for each of the {columns} outputs, not shape {truth.shape}")
        return truth

    def _parts(self, X, n_columns: int) -> Iterator[slice]:
        """Return the parts into which X is split for prediction, so that each takes little memory."""
        n = X.shape[0]
        entries = 2 * X.nnz // n if sp.issparse(X) and not self.preprocessing.moves_zeros else X.shape[1]
        step = max(min(PART_BYTES // (8 * max(entries, n_columns, 1)), ROWS[0]), ROWS[1])
        for first, last in mapping.windows(X):
            for lo in range(first, last, step):
                yield slice(lo, min(lo + step, last))

    def _decide(self, X, rows: slice) -> np.ndarray:
        """Return the known decisions (`Machine`) of some rows of X; all of them are finite."""
        some = X if rows.stop - rows.start == X.shape[0] else X[rows]  # scipy takes its time to copy a few rows
        X, machine = self._without_zeros(self.preprocessing.apply(some))
        out = machine.decide(engine_for(self.kernel, X, self._extent))
        sound = np.isfinite(out)
        if not sound.all():
            row = rows.start + int(np.argmin(sound.all(axis=1))) + 1
            raise InputError(
                f"the decision of row {row} of X is not finite: values of the {self.kernel.name} kernel go beyond "
                "float64 there; scale the columns, in training and here"
            )
        return out

    def _decide_few(self, X, n_threads: int | None, device: str | None) -> np.ndarray | None:
        """Return the known decisions (`Machine`) of few rows as they are given; None where `_decide` has to."""
        steps = self.preprocessing
        if n_threads is not None or device is not None or steps.imputing is not None or steps.scaling is not None:
            return None
        return self.machine.decide_few(self.kernel, X)

    def _without_zeros(self, X) -> tuple[Any, Machine]:
        """Return preprocessed rows and the machine; if there are very many columns, only those in which one of them has
        entries. A product of sparse rows takes memory for each column, and a file of a few bytes may name a very high
        column.
        """
        if not (sp.issparse(X) and sp.issparse(self.vectors)) or self.kernel.form is None:
            return X, self.machine
        if X.shape[1] <= max(WIDE[0], WIDE[1] * (X.nnz + self.vectors.nnz)):
            return X, self.machine
        used = np.union1d(self.vectors.indices, X.indices)

        def cut(A: Any) -> Any:
            places = np.searchsorted(used, A.indices).astype(A.indptr.dtype)
            return sp.csr_array((A.data, places, A.indptr), shape=(A.shape[0], max(len(used), 1)))

        return cut(X), replace(self.machine, vectors=cut(self.vectors))

    def _select_trained(self, decision: np.ndarray) -> np.ndarray:
        """Return the known decisions (`Machine`) among those of `decision_function`."""
        if decision.ndim == 1:
            return decision[:, None]
        trained = self.machine.trained
        return decision if len(trained) == decision.shape[1] else decision[:, trained]

    def _codes(self, known: np.ndarray) -> np.ndarray:
        """Return the class of each row of known decisions (`Machine`), as codes."""
        if self.calibration is not None:
            return self._log_probabilities(known).argmax(axis=1)
        return self.machine.codes(known)

    def _log_probabilities(self, known: np.ndarray) -> np.ndarray:
        """Return the logarithms of the probabilities behind known decisions (`Machine`)."""
        assert self.calibration is not None
        logs = self.machine.log_probabilities(self.calibration.log_odds(known, self.machine.trained))
        p = round_probabilities(np.exp(logs))
        return np.log(p, out=logs, where=p > 0.0)
