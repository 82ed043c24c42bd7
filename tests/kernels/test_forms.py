"""A form of kernel is one record: what does not know a further form, or what it is applied to, raises."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from support.exact import exact_values

from svmkit.kernels.engines import engine_for, few
from svmkit.kernels.extent import require_computable
from svmkit.kernels.forms import FORMS, NO_FORM, Argument, Form, Scalars, difference_error, form_of
from svmkit.kernels.functions import RBF, FromFunction, Kernel, Laplacian, Linear, Poly, Sigmoid
from svmkit.kernels.gram.complete import CompleteKernel
from svmkit.kernels.loops import differences, tiles
from svmkit.kernels.loops.arithmetic import evaluate
from svmkit.kernels.loops.complete_rows import FromDense, Slab, fill
from svmkit.kernels.rounding import largest_value, value_error

CUBE = replace(Form.POLY, number=len(FORMS), name="cube", onnx="Cube")
ANGLE = replace(Form.RBF, number=len(FORMS), name="angle", argument="angle")  # type: ignore[arg-type]
SCALARS = Scalars(CUBE.number, 1.0, 0.0, 3)
NONE = np.empty(0)


@dataclass(frozen=True)
class Cube(Kernel):
    """A kernel of a form that nothing but its record knows."""

    name: ClassVar[str] = "cube"
    form: ClassVar[Form | None] = CUBE


@dataclass(frozen=True)
class Angle(Kernel):
    """A kernel of a form that is applied to something else than dot products and distances."""

    name: ClassVar[str] = "angle"
    form: ClassVar[Form | None] = ANGLE


def rows(n=1300, d=5):
    return np.random.default_rng(0).normal(size=(n, d))


def block(X, q):
    engine = engine_for(Cube(), X)
    return engine.block(engine.take(np.arange(q)), np.empty((q, X.shape[0])))


def product(X):
    engine = engine_for(Cube(), X)
    return engine.product(engine.take(np.arange(30)), np.ones((30, 1)))


def complete_row():
    gram = CompleteKernel(Linear(), rows(50), [np.arange(50)], 1 << 20).gram(0, 0)
    source, slab = gram.engine.source, gram.slab
    assert isinstance(source, FromDense) and isinstance(slab, Slab)
    fill(source._replace(form=CUBE.number), slab, np.arange(2))


def onnx_values():
    import onnx

    from svmkit.model.onnx.decision import kernel_values
    from svmkit.model.onnx.graph import Graph

    kernel_values(Graph(onnx, np.dtype(np.float64)), Cube(), "X", rows(3), differences=False)


DISPATCHES = {
    "record": lambda: form_of(CUBE.number),
    "no form": lambda: form_of(NO_FORM),
    "loops over tiles": lambda: tiles.tile_work(1.0, (1, 1), CUBE),
    "complete row": complete_row,
    "dense block": lambda: block(rows(), 30),
    "sparse block": lambda: block(sp.csr_array(rows()), 30),
    "dense row": lambda: block(rows(), 1),
    "sparse row": lambda: block(sp.csr_array(rows()), 1),
    "dense product": lambda: product(rows()),
    "sparse product": lambda: product(sp.csr_array(rows())),
    "differences of a dot product": lambda: differences.block(
        rows(4), np.empty(0, dtype=np.int64), rows(4), Poly(1.0).scalars, np.empty((4, 4))
    ),
    "numpy on an l1 distance": lambda: few.values(rows(3), NONE, rows(3), NONE, Form.LAPLACIAN, Laplacian(1.0).scalars),
    "numpy on another argument": lambda: few.values(rows(3), NONE, rows(3), NONE, ANGLE, SCALARS),
    "radial": lambda: ANGLE.is_radial,
    "distance": lambda: ANGLE.distance(3, 1.0),
    "diagonal": lambda: Angle().diag(rows(3)),
    "range": lambda: require_computable(Angle(), 1.0),
    "engine": lambda: engine_for(Angle(), rows(3)),
    "sparse engine": lambda: engine_for(Angle(), sp.csr_array(rows(3))),
    "onnx": onnx_values,
}


@pytest.mark.parametrize("name", DISPATCHES)
def test_an_unknown_form_raises_at_every_dispatch(name):
    if name == "onnx":
        pytest.importorskip("onnx")
    with pytest.raises(ValueError, match="form of kernel"):
        DISPATCHES[name]()


def test_the_loops_have_no_value_for_an_unknown_form():
    dots = np.ones((2, 2))
    evaluate(dots, np.ones(2), np.ones(2), *SCALARS)
    assert np.isnan(dots).all()


def test_a_record_is_found_by_its_number():
    assert [form.number for form in FORMS] == list(range(len(FORMS)))
    assert all(form_of(form.number) is form for form in FORMS)
    assert FromFunction(np.dot).scalars.form == NO_FORM


@pytest.mark.parametrize("kernel", [Linear(), RBF(0.3), Poly(0.4, 3, 1.0), Sigmoid(0.2, -0.1), Laplacian(0.5)])
def test_a_record_applies_the_function_that_the_loops_compute(kernel):
    X, form = rows(40), kernel.form
    differences = X[:, None] - X
    argument = {
        Argument.DOT: X @ X.T,
        Argument.SQUARE: (differences**2).sum(axis=2),
        Argument.L1: np.abs(differences).sum(axis=2),
    }[form.argument]
    truth = np.asarray(exact_values(kernel, X, X), dtype=float)
    np.testing.assert_allclose(form.apply(argument, kernel.scalars), truth, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(kernel.diag(X), np.diag(truth), rtol=1e-12)
    reach = float(np.square(X).sum(axis=1).max())
    assert form.name == kernel.name and np.abs(truth).max() <= largest_value(kernel, 5, reach)


@pytest.mark.parametrize(("kernel", "most"), [(RBF(2.0), 1.0), (Laplacian(2.0), 1.0), (Sigmoid(2.0, -0.5), 2.0)])
@pytest.mark.parametrize("reach", [1e20, 1e200, 1e300])
def test_no_bound_is_above_what_two_values_can_differ_by(kernel, most, reach):
    """Values of a distance lie between 0 and 1, those of tanh between -1 and 1, however far away the data are."""
    own = {"l1": reach} if kernel.name == "laplacian" else {}
    assert value_error(kernel, 10, reach, **own) == most
    assert largest_value(kernel, 10, reach) == 1.0


def test_the_largest_value_is_a_bound_in_exact_arithmetic_and_a_close_one():
    rng = np.random.default_rng(0)
    for _ in range(500):
        gamma, coef0, reach = 10.0 ** rng.uniform(-3, 3, 3) * [1.0, rng.choice([-1.0, 1.0]), 1.0]
        for degree in (1, 2, 3, 5):
            value = (Fraction(gamma) * Fraction(reach) + abs(Fraction(coef0))) ** degree
            bound = Fraction(Form.POLY.largest(Poly(gamma, degree, coef0).scalars, reach))
            assert value <= bound <= value * (1 + Fraction(degree + 1, 2**50))


@pytest.mark.parametrize("n", [1, 2**10, 2**30, 2**50, 2**51, 2**52])
def test_the_error_of_a_distance_from_differences_holds_however_many_they_are(n):
    """A distance t may come out as any t (1 + e) with |e| <= (n + 3) u."""
    t, off = 10.0 ** np.linspace(-3.0, 2.0, 2001), (n + 3) * 2.0**-53
    worst = max(float(np.abs(np.expm1(-t * e) * np.exp(-t)).max()) for e in (off, -off))
    bound = difference_error(RBF(1.0).scalars, n)
    assert worst <= bound <= 3.0 * worst + 1e-14
