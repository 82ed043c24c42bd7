"""scikit-learn's checks of estimators, as cases of a test."""

from collections.abc import Callable
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from svmkit.estimators import expected_failures
from svmkit.estimators.checks import WEIGHTS


def parametrize_with_checks_and_tight(
    estimators: list, tight: list, fails: Callable[[Any], dict[str, str]] = expected_failures
) -> Any:
    """Return `parametrize_with_checks` of the estimators, and two checks of `tight` ones, whose tolerances are tighter.

    The two hold decisions to 1e-7: a weight of zero is a removal, and a weight of two a repetition. The others see no
    tolerance.
    """
    usual, exact = (parametrize_with_checks(some, expected_failed_checks=fails) for some in (estimators, tight))
    names, cases = usual.args
    return pytest.mark.parametrize(names, [*cases, *filter(_is_of_weights, exact.args[1])], **usual.kwargs)


def _is_of_weights(case: Any) -> bool:
    _, check = getattr(case, "values", case)
    return check.func.__name__ in WEIGHTS
