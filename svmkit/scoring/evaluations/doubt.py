"""One warning if a model is useless."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from svmkit.kernels.engines import engine_for
from svmkit.losses.by_name import is_likelihood
from svmkit.scoring.quantities import QuantityScores
from svmkit.scoring.ranks import RankScores
from svmkit.scoring.scores import Scores
from svmkit.solver.solution import Status

ROWS = 10  # rows of a class from which on it matters that none is predicted as it
FEWEST = 100  # training rows from which on it matters that nearly all of them are vectors
NEARLY = 0.9  # share of the rows
SAMPLE = 200  # vectors whose kernel values are looked at
ALONE = 0.01  # kernel value below which two vectors hardly know of each other
CHANCE = 0.5  # concordance of predictions that are all the same
AROUND_ORIGIN = "no plane in the kernel's space may keep the samples from the origin"
UNFINISHED = (Status.TIME_LIMIT, Status.INTERRUPTED, Status.MAX_ITER)  # what such a model lacks may still come


@dataclass(frozen=True)
class Trained:
    """A model and what is known of it.

    Parameters
    ----------
    model : SVMModel
        The model.
    train, test : scores or None
        What its predictions are worth on the training rows and on the test rows, as `Evaluation.count` has them.
    status : Status or str
        How training ended; an unfinished model is not judged.
    share : float or None
        The share of the rows that are support vectors, None if unknown, as for weights of features.
    gap : float or None
        The certified gap, None if unknown.
    n_samples : int
        The training rows.
    weighted, streamed : bool, default=False
        Whether the classes have weights, and whether the model has learned from a stream, which ends with its lines.
    search : str, default="svmkit tune"
        What finds better parameters.
    """

    model: Any
    train: Any
    test: Any
    status: Status | str
    share: float | None = None
    gap: float | None = None
    n_samples: int = 0
    weighted: bool = False
    streamed: bool = False
    search: str = "svmkit tune"

    @property
    def is_unfinished(self) -> bool:
        """Whether the model was to go on."""
        return self.status in UNFINISHED and not (self.streamed and self.status == Status.MAX_ITER)


def doubt_orders(trained: Trained) -> str | None:
    """Return why a ranker is useless: it orders no better than chance."""
    tested: RankScores | None = trained.test or trained.train
    if trained.is_unfinished or tested is None or not tested.concordance <= CHANCE:  # nan: no pair says what it is
        return None
    return "the order is no better than chance: other features help, or another -C"


def doubt_outliers(trained: Trained) -> str | None:
    """Return why a detector of outliers is useless: the constant 0, whose P is 0, is as good."""
    if trained.is_unfinished or trained.gap is None or trained.gap < 1.0:  # D <= 0, so that a gap >= 1 says P >= 0
        return None
    return f"{AROUND_ORIGIN}, so that scores are no more than rounding errors: what helps is --kernel rbf"


def doubt_quantities(trained: Trained) -> str | None:
    """Return why a model of quantities is useless: it is no better than the mean of the targets, or it is constant."""
    model = trained.model
    if trained.is_unfinished or not (trained.test or trained.train):
        return None
    if not model.coef.any():
        half = model.about.get("epsilon")
        width = f" of epsilon={half:g}" if isinstance(half, int | float) else ""
        return f"the tube{width} holds all targets, so that the model is a constant: give a smaller --epsilon"
    parts: tuple[tuple[str, QuantityScores | None], ...] = (("test", trained.test), ("training", trained.train))
    where, scores = next(((name, of) for name, of in parts if of and not of.beats_mean), ("", None))
    if scores is None:
        return None
    scale = "--scale standard, " if model.scaling is None and model.kernel.form is not None else ""
    return f"{scores.baseline} predicts the {where} rows as well: what helps is {scale}a larger -C or {trained.search}"


def doubt_classes(trained: Trained) -> str | None:
    """Return why a classifier is useless: classes that it never predicts, or nearly all rows as support vectors.

    A class that is never predicted counts if it has `ROWS` rows. Support vectors count from `FEWEST` training rows on,
    more than there are features: of few rows with many features it is normal that nearly all of them are vectors.
    """
    if trained.is_unfinished:
        return None
    model, share = trained.model, trained.share
    counted = [s for s in (trained.test, trained.train) if isinstance(s, Scores)]
    never = next((lacking for s in counted if (lacking := s.never_predicted(ROWS))), [])
    crowded = share is not None and share > NEARLY and trained.n_samples >= max(FEWEST, model.n_features + 1)
    crowded = crowded and not is_likelihood(model.about.get("minimised", {}).get("loss"))  # which takes all of them
    if not never and not crowded:
        return None
    reasons = []
    if never:
        more = f" and {len(never) - 3} more" if len(never) > 3 else ""
        of = ("class " if len(never) == 1 else "classes ") + ", ".join(never[:3]) + more
        reasons.append(f"{of} {'is' if len(never) == 1 else 'are'} never predicted")
    if crowded:
        reasons.append(f"{share:.1%} of the rows are support vectors")
    alone, sure = crowded and _are_alone(model), model.calibration is not None
    cause = "gamma is likely too large; " if alone else ""
    helps = ["a smaller --gamma"] if alone else []
    if never and not alone:  # labels are those of the highest probability, which class weights leave alone
        weights = [] if trained.weighted else ["--class-weight balanced"]
        helps = ["your own threshold on predict --proba"] if sure else weights
    helps += ["--scale standard"] if model.scaling is None and model.kernel.form is not None else []
    return f"{' and '.join(reasons)}: {cause}what helps is {', '.join(helps)}{' or ' if helps else ''}{trained.search}"


def _are_alone(model: Any) -> bool:
    """Whether the kernel of most pairs of vectors is nearly 0, as it is where gamma is too large."""
    if model.kernel.form is None or not model.kernel.form.is_radial:
        return False
    rows = np.unique(np.linspace(0, model.vectors.shape[0] - 1, SAMPLE).round().astype(int))
    vectors = model.vectors[rows]
    values = engine_for(model.kernel, vectors).block(vectors, np.empty((len(rows), len(rows))))
    return bool(np.median(values[np.triu_indices(len(rows), 1)]) < ALONE)
