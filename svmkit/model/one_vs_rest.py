"""One decision for each class: the layout of the coefficients of one-versus-rest, and the class of decisions.

A model of k > 2 classes then has k decisions, and the label is that of the largest one. Its coefficients are (k, n_sv):
row c belongs to the decision of class c. Machines of one problem of all classes have this layout, too. For two classes
one decision suffices, in the layout of `svmkit.model.one_vs_one`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from svmkit.model.one_vs_one import union_support


def merge_rest(
    rows: Sequence[np.ndarray], values: Sequence[np.ndarray], codes: np.ndarray, n_classes: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Merge the support vectors of the decisions of all classes into those of one model: support, n_support and coef.

    Parameters
    ----------
    rows, values, codes, n_classes : as for `merge_support`, with classes instead of class pairs
    """
    support, place = union_support(np.concatenate(list(rows)), codes)
    coef = np.zeros((n_classes, len(support)))
    for row, at, of_class in zip(coef, rows, values, strict=True):
        row[place[at]] = of_class
    return support, np.bincount(codes[support], minlength=n_classes), coef
