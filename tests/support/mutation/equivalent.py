"""Mutations that change nothing a test could see, each with the reason; they count neither as made nor as killed."""

from __future__ import annotations

import re

from support.mutation.operators import Mutation

BY_LABELS = re.compile(r" / (self\.)?y(\[[\w:]+\])?")

DESIGN = "svmkit/problems/risks/design.py"
A_SEED = re.compile(r"(?:np\.)?random\.default_rng\(\d+\)")
SUM_OF_TWO = re.compile(r"exact_sum\(([^,()]+), ([^,()]+)\)")
CLIPPED = re.compile(r"np\.clip\(([^,()]+), ([^,()]+), ([^,()]+)\)")
AN_ERROR = re.compile(r"_fetch\(|uintp")  # arguments that are swapped, and rows that are not there

ROW_CACHE, ONE_VS_ONE = "svmkit/kernels/gram/row_cache.py", "svmkit/model/one_vs_one.py"
STEPS, BOX = "svmkit/solver/smo/steps.py", "svmkit/solver/smo/box.py"
A_LIMIT = "any number does that is small enough: a floor against a division by 0"
NEVER_EQUAL = "the two are never equal"
NOTHING = "both give 0 where the two are equal"

EQUIVALENT: dict[tuple[str, str, str], str] = {
    (ONE_VS_ONE, "coefficient_row", "own < other -> own <= other"): NEVER_EQUAL,
    (ONE_VS_ONE, "union_support", "-1 -> 1"): "the places of rows that are no vectors are not read",
    (ONE_VS_ONE, "union_support", "-1 -> -2"): "the places of rows that are no vectors are not read",
    (
        "svmkit/kernels/loops/row_loops.py",
        "in_order",
        "np.zeros(n, dtype=np.int64) -> np.ones(n, dtype=np.int64)",
    ): "such a table evicts nothing",
    (ROW_CACHE, "RowCache.__init__", "max(width, 1) -> max(width, 2)"): "a row of one byte is none of the dtypes",
    (ROW_CACHE, "RowCache._lay_out", "max(m, 1) -> max(m, 2)"): "a matrix of one point has one row to keep",
    (ROW_CACHE, "RowCache._lay_out", "np.zeros(slots, dtype=np.int64) -> np.ones(slots, dtype=np.int64)"): (
        "a slot is stamped when it is filled, before its age is compared"
    ),
    ("plugins/svmkit_frank_wolfe/iterate/state.py", "Direction.gain", "self.slope < 0.0 -> self.slope <= 0.0"): (
        NOTHING
    ),
    ("svmkit/solver/exact_search.py", "line_search", "slope < 0.0 -> slope <= 0.0"): (
        "both give 0, of either sign, where the slope is 0"
    ),
    (
        "svmkit/problems/certificate.py",
        "relative_gap",
        "max(abs(dual), abs(gap + dual), 1e-300) -> max(abs(dual), abs(gap + dual), 2e-300)",
    ): A_LIMIT,
    (
        "svmkit/solver/loop/confirmation.py",
        "Confirmation._certify",
        "min(0.8, max(0.05, 0.8 * math.sqrt(limit / certificate.gap))) "
        "-> min(1.6, max(0.05, 0.8 * math.sqrt(limit / certificate.gap)))",
    ): "a certificate that refuses has a gap above the limit, so that the root is below 1",
    (STEPS, "second_order", "best: Any = 0 -> best: Any = 1"): "1 is the key of the least number above 0",
    (STEPS, "second_order", "top: Any = 0 -> top: Any = 1"): "1 is the key of the least number above 0",
    (STEPS, "second_order", "curvature > floor -> curvature >= floor"): "the two are equal then",
    (STEPS, "second_order", "violation > 0.0 -> violation >= 0.0"): NOTHING,
    (STEPS, "step", "curvature < -ROUNDING * abs(size) -> curvature <= -ROUNDING * abs(size)"): (
        "the bound is itself rounded"
    ),
    (BOX, "", "2 ** 63 - 1 -> 2 ** 63 - 2"): "no number has this key",
    (
        BOX,
        "side_of",
        "LOW if beta > lower else 0 -> LOW if beta > lower else 1",
    ): "UP is set there",
    (BOX, "_key", "np.int64(63) -> np.int64(64)"): "as plain Python, NumPy shifts by 64 as by 63",
    (BOX, "_pair", "-1 -> -2"): "any number below 0 means that there is no point",
    (BOX, "gap", "residual > 0.0 -> residual >= 0.0"): NOTHING,
    (
        "svmkit/solver/loop/solve.py",
        "solve",
        "run.status = Status.INTERRUPTED -> pass",
    ): "a run begins with this status",
    (
        "plugins/svmkit_dask/parts/disk.py",
        "DiskPart._features",
        "pointers[-1] <= np.iinfo(np.int32).max -> pointers[-1] < np.iinfo(np.int32).max",
    ): "either type holds this number",
    ("svmkit/cli/extending/warming.py", "data", "np.arange(points) % 2 -> np.arange(points) % 3"): (
        "any two classes compile the same loops"
    ),
    (
        "svmkit/estimators/callbacks.py",
        "FitTasks.__init__",
        "self._several, self._begun = (False, -1) -> self._several, self._begun = (True, -1)",
    ): "every problem that begins sets it before it is read",
    ("svmkit/conformance/engines.py", "", "Poly(0.2, 3, 1.0) -> Poly(0.2, 4, 1.0)"): (
        "one of many polynomials on which an engine is tried"
    ),
    (
        "svmkit/problems/risks/points.py",
        "make_points",
        "zip(_above(terms), _below(terms), strict=True) -> zip(_below(terms), _above(terms), strict=True)",
    ): "equality is symmetric",
    ("svmkit/problems/risks/points.py", "side_toward", "e > 0.0 -> e >= 0.0"): (
        "at 0 each side gives a loss, a weight and a product of 0"
    ),
    ("svmkit/problems/bias.py", "_zero_of_slopes.zero_in", "middle < last -> middle <= last"): (
        "the middle of two ends is an end only where they are the same, and so is the answer"
    ),
    ("svmkit/kernels/extent.py", "Extent.measure", "cls(NOWHERE, 0.0) -> cls(NOWHERE, 1.0)"): (
        "no engine of a kernel without a form reads it"
    ),
    (
        "svmkit/kernels/loops/vectors.py",
        "dense_dots._generate",
        "signature.args[2] -> signature.args[3]",
    ): "only the dtype is read, and all arrays have one",
    (
        "svmkit/solver/loop/support_limit.py",
        "SupportLimit._trim",
        "coef[left] * coef[chosen[0]] < 0.0 -> coef[left] * coef[chosen[0]] <= 0.0",
    ): "coefficients of 0 have been left out",
    ("svmkit/kernels/loops/complete_rows.py", "_compute_row", "f2 + lo + n -> n"): (
        "a compiled loop over n numbers looks at where a part begins, not at its end"
    ),
    ("svmkit/kernels/loops/complete_rows.py", "", "SQUARE = 32 -> SQUARE = 33"): "only the speed depends on it",
    ("svmkit/conformance/hostile/cases.py", "", "K - 0.5 -> K - 1.0"): "one of many constants to take away",
    ("svmkit/data/survey.py", "survey", "learnt.encoding(is_text=False) -> learnt.encoding(is_text=True)"): (
        "a description does not tell whether labels are text in a later table"
    ),
    (
        "svmkit/kernels/loops/vectors.py",
        "dense_dots._generate.sums",
        "builder.add(first, intp(i)) -> builder.add(intp(i), first)",
    ): "a sum is symmetric",
    (
        "svmkit/cli/evaluating/report.py",
        "_draw_classes",
        "reliability is not None and evaluated.probabilities is not None "
        "-> reliability is not None or evaluated.probabilities is not None",
    ): "there is one where there is the other",
    ("plugins/svmkit_coordinate/workers.py", "Shared.allocate", "d.width % 8 -> d.width % 9"): (
        "eight numbers and more lie between the rows of two workers all the same"
    ),
}
"""(path, where, before -> after) and the reason."""


def reason_of(path: str, mutation: Mutation) -> str | None:
    """Return why the mutation is equivalent, or None if it is to be killed."""
    if BY_LABELS.search(mutation.after) and mutation.after.replace(" / ", " * ") == mutation.before:
        return "labels are -1 or +1: a product with them is a quotient"
    if mutation.after == mutation.before:
        return "the two are the same"
    if A_SEED.fullmatch(mutation.before) and A_SEED.fullmatch(mutation.after):
        return "any seed does"
    given = SUM_OF_TWO.fullmatch(mutation.before)
    if given and mutation.after == f"exact_sum({given[2]}, {given[1]})":
        return "neither the sum of two numbers nor its error depends on their order"
    clipped = CLIPPED.fullmatch(mutation.before)
    if clipped and mutation.after == f"np.clip({clipped[2]}, {clipped[1]}, {clipped[3]})":
        return "the larger of the first two, but at most the third: their order does not count"
    if (path, mutation.where[:11]) == (DESIGN, "_fetch_row.") and not AN_ERROR.search(mutation.after):
        return "what is fetched ahead changes no number"
    return EQUIVALENT.get((path, mutation.where, f"{mutation.before} -> {mutation.after}"))
