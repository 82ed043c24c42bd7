"""The examination of kernel matrices that need not be positive semidefinite."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from svmkit import SVMClassifier, fit
from svmkit.errors import InputError
from svmkit.kernels import RBF, Gram, Kernel, Linear, Poly, Precomputed, Sigmoid
from svmkit.kernels.functions import asymmetry
from svmkit.kernels.gram import semidefinite as examined
from svmkit.kernels.gram.complete import CompleteGram, CompleteKernel
from svmkit.kernels.gram.semidefinite import Definiteness
from svmkit.kernels.loops import given
from svmkit.kernels.loops.given import survey
from svmkit.training.subproblems import at_once


def rows(m=60, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(m, d))


def matrix_with(least, m=60, seed=0):
    """A symmetric matrix whose least eigenvalue is `least` and whose others are between 0.5 and 2."""
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.normal(size=(m, m)))
    values = rng.uniform(0.5, 2.0, m)
    values[0] = least
    K = (Q * values) @ Q.T
    return 0.5 * (K + K.T)


@pytest.mark.parametrize("kernel", [RBF(0.5), Linear(), Poly(0.5, coef0=1.0), Poly(0.5)])
def test_kernels_that_are_known_are_not_examined(kernel, monkeypatch):
    monkeypatch.setattr(examined, "_factorise", None)
    assert Gram(kernel, rows()).definiteness == Definiteness()


@pytest.mark.parametrize("kernel", [Sigmoid(1.0, coef0=1.0), Poly(1.0, coef0=-2.0)])
def test_indefinite_kernels_are_found(kernel):
    gram = Gram(kernel, rows())
    K = gram.block(np.arange(60), np.arange(60))
    assert np.linalg.eigvalsh(K)[0] < -1e-3
    before = gram.kernel_values
    assert "not positive semidefinite" in gram.definiteness.flaw
    assert gram.kernel_values == before


@pytest.mark.parametrize("least", [1.0, 1e-12, 0.0, -1e-15, -1e-10])
def test_a_precomputed_matrix_that_is_semidefinite_up_to_rounding(least):
    K = matrix_with(least)
    found = Gram(Precomputed(), K).definiteness
    assert found.flaw is None
    true = np.linalg.eigvalsh(K)[0]
    assert found.shift >= -true and found.shift <= max(1e-11, -40.0 * true)


@pytest.mark.parametrize("least", [-1e-6, -0.1])
def test_a_precomputed_matrix_that_is_indefinite(least):
    assert Gram(Precomputed(), matrix_with(least)).definiteness.flaw


def test_a_float32_matrix_has_the_rounding_of_float32():
    X = rows(80)
    K = np.exp(-0.01 * ((X[:, None] - X[None]) ** 2).sum(-1)).astype(np.float32)
    least = np.linalg.eigvalsh(K.astype(np.float64))[0]
    found = Gram(Precomputed(), K).definiteness
    assert least < -1e-9  # below what float64 would allow
    assert found.flaw is None and found.shift >= -least


class Given(Kernel):
    """A third-party kernel that promises nothing: an inner product with one negative direction."""

    name = "given"

    def block(self, X, Z):
        return X @ Z.T - 2.0 * np.outer(X[:, 0], Z[:, 0])

    def diag(self, X):
        return (X**2).sum(1) - 2.0 * X[:, 0] ** 2


def test_third_party_kernels_are_examined():
    assert Gram(Given(), rows()).definiteness.flaw


def test_more_samples_than_are_factorise(monkeypatch):
    monkeypatch.setattr(examined, "MOST", 40)
    monkeypatch.setattr(examined, "LEAST", 40)
    assert "too many to prove" in Gram(Sigmoid(1e-9), rows()).definiteness.flaw
    assert Gram(Precomputed(), matrix_with(0.5)).definiteness.flaw is None
    K = np.eye(400)
    K[7, 390] = K[390, 7] = 1.5  # two samples that a draw of 40 misses
    assert 7 not in np.random.default_rng(0).choice(400, 40, replace=False)
    assert Gram(Precomputed(), K).definiteness.flaw
    K = np.eye(400)
    K[380, 390] = K[390, 380] = 1.5  # or both are among the last
    assert Gram(Precomputed(), K).definiteness.flaw
    K = np.eye(400)
    K[7, 7] = -1e-3
    assert Gram(Precomputed(), K).definiteness.flaw


def indefinite_in_three(m, at):
    """A matrix whose 2 x 2 minors are positive, and whose samples `at` alone are indefinite."""
    K = np.eye(m)
    K[np.ix_(at, at)] = np.where(np.eye(3), 1.0, -0.9)
    return K


def test_a_fit_examines_a_sample_and_certify_all(monkeypatch):
    monkeypatch.setattr(examined, "LEAST", 40)
    K = indefinite_in_three(300, [7, 150, 291])
    y = np.where(np.arange(300) % 2, 1, -1)
    model = SVMClassifier(kernel="precomputed").fit(K, y)
    assert np.linalg.eigvalsh(K)[0] == pytest.approx(-0.8)
    assert model.status_ == "converged"
    (certificate,) = model.model_.certify(K, y)
    assert certificate.gap is None and "not positive semidefinite" in certificate.flaw


@pytest.mark.parametrize("size", [1.0, 1e-3])
def test_the_shift_is_the_rounding_of_a_factorisation_and_no_more(size):
    """(n + 2) u trace(K) bounds the backward error (Higham 2002, theorem 10.7); twice it is tried, and twice told."""
    shift = Gram(Precomputed(), size * np.eye(50)).definiteness.shift
    assert shift == pytest.approx(4.0 * 52.0 * 2.0**-53 * 50.0 * size, rel=1e-12)


@pytest.mark.parametrize("n", [600, 700])
def test_the_budget_holds_the_matrix_and_its_two_copies(n, monkeypatch):
    """Of so many samples, and of no more: the values, their transpose, and the factor."""
    sizes, factorise = [], examined._factorise
    monkeypatch.setattr(examined, "_factorise", lambda *given: sizes.append(len(given[2])) or factorise(*given))
    engine = Gram(Precomputed(), np.eye(800)).engine
    for budget, most in ((3 * 8 * n**2, n), (3 * 8 * n**2 - 1, n - 1)):
        examined.examine(engine, np.ones(800), budget, proof=True)
        assert sizes[-1] == most


def test_a_first_look_finds_most_indefinite_kernels(monkeypatch):
    sizes, factorise = [], examined._factorise
    monkeypatch.setattr(examined, "_factorise", lambda *given: sizes.append(len(given[2])) or factorise(*given))
    assert Gram(Sigmoid(1.0, coef0=1.0), rows(2000)).definiteness.flaw and sizes == [64]
    sizes.clear()
    assert Gram(Precomputed(), np.eye(900)).definiteness.flaw is None and sizes == [64, 372]
    sizes.clear()
    assert Gram(Poly(0.5, degree=1, coef0=-1e-300), rows(300)).definiteness.flaw is None and sizes == [64, 300]


@pytest.mark.parametrize("rounded", [True, False])
def test_a_matrix_that_is_symmetric_but_for_rounding_is_not_copied(rounded):
    K = matrix_with(0.5)
    K[3, 5] *= 1.0 + (4.0 * np.finfo(float).eps if rounded else 1e-7)
    shared = CompleteKernel(Precomputed(), K, [np.arange(30), np.arange(30, 60)], 1 << 30)
    assert np.shares_memory(shared.matrix, K) == rounded
    K.flags.writeable = False
    other = CompleteKernel(Precomputed(), K, [np.arange(30), np.arange(30, 60)], 1 << 30)
    assert not np.shares_memory(other.matrix, K)


def test_asymmetry_is_found_wherever_it_is():
    K = matrix_with(0.5, m=300)
    assert asymmetry(K).size == asymmetry(sp.csr_array(K)).size == 0.0
    for i, j in ((0, 299), (270, 3), (140, 141)):
        K[i, j] += 0.25
        for X in (K, sp.csr_array(K), K.astype(np.float32)):
            found = asymmetry(X)
            assert found.size == pytest.approx(0.25, rel=1e-6) and {found.i, found.j} == {i, j}
        K[i, j] = K[j, i]


def test_asymmetry_counts_as_an_error_of_the_values():
    K = matrix_with(0.5)
    assert Gram(Precomputed(), K).engine.error == 0.0
    K[3, 5] += 1e-7
    assert Gram(Precomputed(), K).engine.error == pytest.approx(5e-8, rel=1e-6)


@pytest.mark.parametrize("m", [1, 5, 64, 65, 130, 200])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_pass_finds_what_plain_formulas_find(m, dtype):
    K = np.random.default_rng(m).normal(size=(m, m)).astype(dtype)
    K[np.arange(0, m, 2), np.arange(0, m, 2)] += 3.0
    wide = K.astype(np.float64)
    root = np.sqrt(np.maximum(np.diag(wide), 0.0))
    for other in (K, np.asfortranarray(K), np.repeat(K, 2, axis=1)[:, ::2]):
        found = survey(other)
        assert found.asymmetry == np.abs(wide - wide.T).max() == abs(wide[found.i, found.j] - wide[found.j, found.i])
        assert found.largest == np.abs(wide).max()
        most = max(0.0, (np.abs(wide) - np.outer(root, root)).max())
        np.testing.assert_allclose(found.excess, most, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_pass_does_not_miss_what_is_not_finite(bad):
    K = np.eye(150)
    K[130, 20] = bad
    assert not np.isfinite(survey(K).largest)
    assert survey(np.empty((0, 0))).largest == 0.0


def test_a_matrix_that_is_read_once_is_read_again_by_those_who_have_another_one():
    K = matrix_with(0.5)
    kernel = Precomputed().resolve(K)
    assert kernel == Precomputed() and kernel.params == {}
    assert Gram(kernel, K).engine.survey is kernel.reading.find(K) is not None
    other = K.copy()
    other[3, 5] += 1e-7
    assert Gram(kernel, other).engine.error == pytest.approx(5e-8, rel=1e-6)
    assert pickle.loads(pickle.dumps(kernel)).reading.find(K) is None
    K[3, 5] += 1e-7  # by its owner, who fits again
    assert Gram(Precomputed().resolve(K), K).engine.error == pytest.approx(5e-8, rel=1e-6)


def test_class_pairs_share_one_examination(monkeypatch):
    examinations, factorise = [], examined._factorise
    monkeypatch.setattr(examined, "_factorise", lambda *given: examinations.append(0) or factorise(*given))
    K, y = matrix_with(0.5, m=120), np.arange(120) % 4
    assert SVMClassifier(kernel="precomputed").fit(K, y).status_ == "converged" and len(examinations) == 1


def test_a_class_pair_is_not_blamed_for_other_classes():
    K, y = matrix_with(0.5, m=120), np.arange(120) % 3
    at = np.flatnonzero(y == 2)[:3]
    K[at] = K[:, at] = 0.0
    K[np.ix_(at, at)] = np.where(np.eye(3), 1.0, -0.9)
    flaws = [s.certificate.flaw for s in fit(K, y, kernel=Precomputed()).solutions]
    assert flaws[0] is None and all("not positive semidefinite" in flaw for flaw in flaws[1:])


def test_the_look_at_a_few_samples_computes_no_rows_of_all():
    X = rows(900, 5)
    shared = CompleteKernel(
        Sigmoid(1.0, coef0=1.0), X, [np.arange(0, 900, 3), np.arange(1, 900, 3), np.arange(2, 900, 3)], 1 << 30
    )
    gram = shared.gram(0, 2)
    assert "not positive semidefinite" in gram.definiteness.flaw and gram.kernel_values == 0
    at = np.array([3, 299, 300, 599])
    values = gram.engine.square(at, np.empty((4, 4)))
    x = X[gram.engine.rows[at]]
    np.testing.assert_allclose(values, np.tanh(x @ x.T + 1.0), rtol=1e-12)
    gram.bring(at)
    np.testing.assert_allclose(gram.engine.square(at, np.empty((4, 4))), values, rtol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("at", [(130, 20), (20, 130), (7, 7)])
def test_a_fit_names_the_value_that_is_not_finite(bad, at):
    K, y = np.eye(150), np.arange(150) % 2
    K[at] = bad
    with pytest.raises(InputError, match=f"row {at[0] + 1}, column {at[1] + 1} "):
        SVMClassifier(kernel="precomputed").fit(K, y)


def test_a_matrix_is_read_once_however_its_rows_are_sorted(monkeypatch):
    K = matrix_with(0.5, m=90)
    y = np.arange(90) % 3
    calls, read = [], given.survey
    monkeypatch.setattr(given, "survey", lambda X: calls.append(len(X)) or read(X))
    assert SVMClassifier(kernel="precomputed").fit(K, y).gap_ <= 1e-3
    assert SVMClassifier(kernel="precomputed").fit(K, y, sample_weight=np.arange(90) % 4).gap_ <= 1e-3
    assert calls == [90, 90]


def test_class_pairs_of_a_matrix_are_trained_in_one_call_if_it_has_no_flaw(monkeypatch):
    calls, make = [], at_once.AtOnce
    monkeypatch.setattr(at_once, "AtOnce", lambda *options: calls.append(len(options[1])) or make(*options))
    X, y = rows(90), np.arange(90) % 3
    K = Gram(RBF(0.3), X).block(np.arange(90), np.arange(90))
    fitted = SVMClassifier(kernel="precomputed").fit(K, y)
    assert calls == [3] and fitted.gap_ <= 1e-3
    expected = SVMClassifier(kernel=RBF(0.3)).fit(X, y)
    np.testing.assert_allclose(fitted.bound_, expected.bound_, rtol=1e-6)
    at = np.flatnonzero(y == 0)[:3]
    K = indefinite_in_three(90, at)
    fitted = SVMClassifier(kernel="precomputed").fit(K, y)
    assert calls == [3, 3] and fitted.status_ == "not_certified"
    flaws = [certificate.flaw for certificate in fitted.certificate_]
    assert [flaw is None for flaw in flaws] == [False, False, True]  # that of the classes 1 and 2 is definite


def test_curvature_that_an_examination_has_missed_is_found_in_each_pair(monkeypatch):
    X, y = rows(90), np.arange(90) % 3
    K = -Gram(RBF(0.3), X).block(np.arange(90), np.arange(90))
    monkeypatch.setattr(CompleteKernel, "definiteness", examined.Definiteness())
    monkeypatch.setattr(CompleteGram, "definiteness", examined.Definiteness())
    fitted = SVMClassifier(kernel="precomputed").fit(K, y)
    assert fitted.gap_ is None and all(certificate.gap is None for certificate in fitted.certificate_)
