"""Models from files and plain arrays, polished models, and input that cannot be judged."""

import os
import shutil
import subprocess
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_digits
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC
from support.text_models import libsvm_text

from svmkit import SVMClassifier, SVMModel, certify, fit
from svmkit.errors import InputError
from svmkit.kernels import RBF
from svmkit.referee.reading import read_file

pytestmark = pytest.mark.usefixtures("one_pool")

M = 80
RNG = np.random.default_rng(0)
Y = np.where(np.arange(M) % 3 == 0, 1, 0)
X = RNG.normal(size=(M, 4)) + 0.8 * Y[:, None]
T = X[:, 0] + 0.3 * RNG.normal(size=M)
svm_train = pytest.mark.skipif(shutil.which("svm-train") is None, reason="needs svm-train of Debian's libsvm-tools")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    dump_svmlight_file(X, Y, "rows.svm", zero_based=False)
    dump_svmlight_file(X, T, "quantities.svm", zero_based=False)


def train(*options, data="rows.svm"):
    """LIBSVM's own program; returns what it says of its objective."""
    done = subprocess.run(["svm-train", *options, data, "its.model"], capture_output=True, text=True, check=True)
    return [float(line.split()[2].rstrip(",")) for line in done.stdout.splitlines() if line.startswith("obj")]


@svm_train
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("options", [("-c", "3"), ("-t", "0"), ("-t", "1", "-r", "1", "-g", "0.3")])
def test_the_text_of_svm_train(options):
    (objective,) = train("-e", "1e-8", *options)
    verdict = certify("its.model", X, Y)
    assert verdict.primal == pytest.approx(-objective, rel=1e-5)  # the text has 8 digits of the vectors
    assert verdict.rulings[0].own.gap <= 1e-5 and "is the bound that its coefficients share" in verdict.notes[0]


@svm_train
@pytest.mark.usefixtures("folder")
def test_class_weights_of_svm_train():
    train("-e", "1e-8", "-c", "0.1", "-w1", "3")
    assert certify("its.model", X, Y).gap <= 1e-5  # both bounds are read off
    train("-e", "1e-8", "-c", "200", "-w1", "0.0001")
    with pytest.raises(InputError, match="does not say its C: give C=NUMBER"):
        certify("its.model", X, Y)
    assert certify("its.model", X, Y, C=200.0, class_weight={1: 0.0001}).gap <= 1e-5


@svm_train
@pytest.mark.usefixtures("folder")
def test_other_types_of_svm_train():
    train("-s", "1", "-n", "0.4", "-e", "1e-8")
    assert certify("its.model", X, Y).rulings[0].own.gap <= 1e-5
    train("-s", "2", "-n", "0.4", "-e", "1e-8")
    assert certify("its.model", X).problem.startswith("one class, hinge, nu=0.4")
    train("-s", "3", "-p", "0.2", "-e", "1e-8", data="quantities.svm")
    with pytest.raises(InputError, match="does not say its epsilon: give epsilon=NUMBER"):
        certify("its.model", X, T)
    assert certify("its.model", X, T, epsilon=0.2).rulings[0].own.gap <= 1e-5
    train("-s", "4", "-n", "0.4", "-e", "1e-8", data="quantities.svm")
    assert certify("its.model", X, T).rulings[0].own.gap <= 1e-5


@pytest.mark.usefixtures("folder")
def test_the_text_of_liblinear():
    """Loss, penalty and bias are those of the solver type; C is not in the file."""
    machine = LinearSVC(C=0.5, intercept_scaling=2.0, tol=1e-10, max_iter=100_000).fit(X, Y)
    w, b = -machine.coef_[0], -machine.intercept_[0] / 2.0  # a positive decision is for the first label
    lines = ["solver_type L2R_L2LOSS_SVC_DUAL", "nr_class 2", "label 0 1", "nr_feature 4", "bias 2", "w"]
    Path("its.model").write_text("\n".join([*lines, *(f"{value!r} " for value in [*w.tolist(), float(b)])]) + "\n")
    with pytest.raises(InputError, match="does not say its C"):
        certify("its.model", X, Y)
    verdict = certify("its.model", X, Y, C=0.5)
    assert verdict.gap <= 1e-6 and verdict.primal == pytest.approx(certify(machine, X, Y).primal, rel=1e-12)
    assert verdict.problem == "squared hinge, regularised bias of 2, C=0.5, linear kernel"
    assert max(c.gap for c in read_file("its.model").certify(X, Y, C=0.5)) <= 1e-6


@pytest.mark.usefixtures("folder")
def test_a_file_of_libsvm_with_three_classes():
    three = np.arange(M) % 3
    machine = SVC(C=2.0, tol=1e-11).fit(X, three)
    Path("its.model").write_text(libsvm_text(machine, [0, 1, 2]))
    verdict = certify("its.model", X, three)
    assert verdict.gap <= 1e-6 and verdict.primal == pytest.approx(certify(machine, X, three).primal, rel=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", RBF(0.4)])
def test_plain_arrays(kernel):
    machine = SVC(C=2.0, gamma=0.4 if kernel != "rbf" else "scale", tol=1e-11).fit(X, Y)
    kernel = RBF(machine._gamma) if kernel == "rbf" else kernel
    parts = kernel, machine.support_vectors_, machine.dual_coef_, machine.intercept_
    assert certify(parts, X, Y, loss="hinge", C=2.0).rulings[0].own.gap <= 1e-6
    machine = SVR(C=2.0, epsilon=0.2, gamma=0.4, tol=1e-11).fit(X, T)
    parts = RBF(0.4), machine.support_vectors_, machine.dual_coef_, machine.intercept_
    verdict = certify(parts, X, T, loss="epsilon_insensitive", epsilon=0.2, C=2.0)
    assert verdict.rulings[0].own.gap <= 1e-6 and verdict.measure == "rmse"


def test_a_pipeline_is_judged_on_the_rows_before_it():
    rows = 100.0 + 5.0 * X
    machine = make_pipeline(StandardScaler(), SVC(C=20.0)).fit(rows, Y)
    verdict = certify(machine, rows, Y, polish=True, tol=1e-6)
    assert 0.0 < verdict.gain <= verdict.gap < 1e-2
    ours = verdict.polished  # takes the rows of the pipeline
    assert max(c.gap for c in ours.certify(rows, Y)) <= 1e-6
    assert np.mean(ours.predict(rows) == Y) == verdict.polished_score
    more = make_pipeline(StandardScaler(), SelectKBest(k=2), SVC()).fit(rows, Y)
    assert certify(more, rows, Y).notes == ["the polished model takes rows as the last step of the pipeline takes them"]


def test_a_search_stands_for_its_best_estimator():
    search = GridSearchCV(SVC(tol=1e-11), {"C": [0.5, 5.0]}, cv=3).fit(X, Y)
    verdict = certify(search, X, Y)
    assert verdict.gap <= 1e-6 and f"C={search.best_params_['C']:g}," in verdict.problem


@pytest.mark.parametrize("solver", ["smo", "fcfw", "dcd", "klr"])
def test_our_own_estimators(solver):
    machine = SVMClassifier(solver=solver, C=2.0, tol=1e-7, **({"loss": "logistic"} if solver == "klr" else {}))
    verdict = certify(machine.fit(X, Y), X, Y)
    assert verdict.software == f"svmkit {solver}" and verdict.gap <= 2e-6


@pytest.mark.parametrize("labels", [[0, 1], ["no", "yes"], [3, 1, 2]], ids=str)
def test_balanced_weights_of_our_own_models_count_the_weights_of_samples(labels):
    rng = np.random.default_rng(3)
    y = np.array(labels)[np.arange(90) % len(labels)]
    X = rng.normal(size=(90, 3)) + (y == labels[0])[:, None]
    weights = rng.uniform(0.1, 3.0, 90) * np.where(y == labels[0], 5.0, 1.0)
    machine = SVMClassifier(class_weight="balanced", tol=1e-6).fit(X, y, sample_weight=weights)
    verdict = certify(machine, X, y, class_weight="balanced", sample_weight=weights, time_limit=0)
    assert verdict.gap <= 2e-6


def test_a_model_of_its_own_that_ended_at_a_limit():
    model = fit(X, Y, solver="smo", kernel=RBF(0.5), C=100.0, stop=None).model
    stopped = SVMModel(**{**vars(model), "coef": 0.5 * model.coef})
    verdict = certify(stopped, X, Y, polish=True)
    assert verdict.gap > 0.1 and certify(verdict.polished, X, Y).gap <= 2e-6


@pytest.mark.parametrize("machine", [SVC(), LinearSVC(), NuSVC(nu=0.3), SGDClassifier(random_state=0)])
def test_a_polished_model_of_three_classes(machine):
    three = np.arange(M) % 3
    verdict = certify(machine.fit(X, three), X, three, polish=True)
    assert len(verdict.rulings) == 3 and all(ruling.polished.gap <= 1e-6 for ruling in verdict.rulings)
    names = verdict.polished.predict(X)
    assert np.mean(names == three) == verdict.polished_score
    if not isinstance(machine, NuSVC):  # which settles another C anew
        ours = [certificate.primal for certificate in verdict.polished.certify(X, three)]
        assert pytest.approx(ours, rel=1e-6) == [ruling.polished.primal for ruling in verdict.rulings]


def test_a_limit_of_zero_leaves_our_solver_out():
    machine = SGDClassifier(random_state=0).fit(X, Y)
    verdict = certify(machine, X, Y, time_limit=0.0)
    assert verdict.gain is None and verdict.rulings[0].status is None and verdict.gap > 0.0


class Marker:
    def __reduce__(self):
        return os.mkdir, ("unpickled",)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("compress", [0, 3, ("gzip", 3), ("bz2", 3), ("xz", 3)])
def test_a_pickle_is_not_read_unless_it_is_trusted(compress):
    joblib.dump(Marker(), "its.joblib", compress=compress)
    with pytest.raises(InputError, match="is a pickle, which runs whatever code it holds"):
        read_file("its.joblib")
    with pytest.raises(InputError, match="is a pickle"):
        certify("its.joblib", X, Y)
    assert not Path("unpickled").exists()
    joblib.dump(SVC(tol=1e-11).fit(X, Y), "its.joblib", compress=compress)
    assert certify(read_file("its.joblib", trust=True), X, Y).gap <= 1e-6


class Own(SVC):
    """A type that skops does not know."""


@pytest.mark.usefixtures("folder")
def test_skops_reads_what_it_knows():
    io = pytest.importorskip("skops.io")
    io.dump(make_pipeline(StandardScaler(), SVC(tol=1e-11)).fit(X, Y), "its.skops")
    assert certify(read_file("its.skops"), X, Y).gap <= 1e-6
    io.dump(Own(tol=1e-11).fit(X, Y), "its.skops")
    with pytest.raises(InputError, match=r"Untrusted types found in the file.*; give --trust if you know who wrote it"):
        read_file("its.skops")
    assert certify(read_file("its.skops", trust=True), X, Y).gap <= 1e-6


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", [SVC, SVR, NuSVC, LinearSVC])
def test_a_bound_is_one_whatever_the_coefficients_are(kind, seed):
    """Dual weights that are disturbed are clipped and made feasible: D never exceeds the optimum."""
    rng = np.random.default_rng(seed)
    answers, options = (T if kind is SVR else Y), ({} if kind is not NuSVC else {"nu": 0.3})
    machine = kind(tol=1e-9, **options).fit(X, answers)
    name = "coef_" if kind is LinearSVC else "dual_coef_"
    values = getattr(machine, name)
    moved = values * np.exp(rng.normal(size=values.shape)) + 0.3 * rng.normal(size=values.shape)
    if kind is NuSVC:  # the largest coefficient says what C is: it stays
        moved = np.clip(moved, -np.abs(values).max(), np.abs(values).max())
        moved[:, np.abs(values).argmax()] = values[:, np.abs(values).argmax()]
    best = certify(machine, X, answers, polish=True, tol=1e-8).rulings[0]
    attributes = {"dual_coef_": "_dual_coef_"}
    setattr(machine, attributes.get(name, name), moved)
    setattr(machine, name, moved)
    own = certify(machine, X, answers, time_limit=0.0).rulings[0].own
    optimum = min(best.primal, best.polished.primal)
    assert own.primal >= best.dual - 1e-12 and own.dual <= optimum * (1.0 + 1e-12) and own.gap > 1e-3


def broken(**attributes):
    machine = SVC().fit(X, Y)
    for name, value in attributes.items():
        setattr(machine, name, value)
    return machine


SPOILT = np.array([[np.nan]])


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: certify(SVC().fit(X, Y), X), "a bound needs the labels or targets of the training rows: give y"),
        (lambda: certify(SVC().fit(X, Y), X[:, :3], Y), "the model has 4 features, the rows have 3"),
        (lambda: certify(SVC().fit(X, Y), X, Y[1:]), "X has 80 rows and y 79 labels"),
        (lambda: certify(SVC().fit(X, Y), X, Y + 1), "y holds 2, which is none of the model's classes"),
        (lambda: certify(SVC().fit(X, Y), X[Y > 0], Y[Y > 0]), "no row has the class 0: a bound needs the rows"),
        (lambda: certify(SVC().fit(X, Y), np.where(X > 2, np.nan, X), Y), "X"),
        (lambda: certify(SVC().fit(X, Y), X, Y, sample_weight=np.ones(3)), "sample_weight must be 80 finite numbers"),
        (
            lambda: certify(SVC().fit(X, Y), X, Y, sample_weight=["a"] * len(Y)),
            "sample_weight must be 80 finite numbers",
        ),
        (lambda: certify(SVC().fit(X, Y), X, Y, class_weight=[1.0, 2.0]), "give balanced or a weight for each label"),
        (lambda: certify(SVC().fit(X, Y), X, Y, bias="fre"), "bias must be free, the value of its column, or 0"),
        (lambda: certify(SVC().fit(X, Y), X, Y, memory="lots"), "'lots' is not a size"),
        (lambda: certify(SVC().fit(X, Y), X, Y, tol=0.0), "time_limit must be >= 0 and tol > 0"),
        (lambda: certify(SVC().fit(X, Y), X, Y, gamma=1.0), "certify has no option 'gamma'; of the problem there are"),
        (lambda: certify(SVC().fit(X, Y), X, Y, C=-1.0), "C must be finite and > 0, not -1.0"),
        (lambda: certify(SVC().fit(X, Y), X, Y, class_weight={7: 2.0}), "class_weight names '7', which is none of the"),
        (lambda: certify(broken(_intercept_=np.array([np.nan]), intercept_=np.array([np.nan])), X, Y), "not finite"),
        (lambda: certify((RBF(1.0), X, np.ones(3), 0.0), X, Y, loss="hinge", C=1.0), "80 vectors and 3 coefficients"),
        (lambda: certify((RBF(1.0), X, SPOILT.repeat(M), 0.0), X, Y, loss="hinge", C=1.0), "must be finite numbers"),
        (lambda: certify((RBF(1.0), X, np.ones(M), 0.0), X, Y), "plain arrays do not say which problem they solve"),
        (lambda: certify((RBF(1.0), X, np.ones(M)), X, Y), "(kernel, vectors, coefficients, intercept), not 3 things"),
        (lambda: certify("nowhere.model", X, Y), "nowhere.model"),
    ],
)
def test_bad_input_is_one_line(call, says):
    with pytest.raises(InputError) as told:
        call()
    assert says in str(told.value) and "\n" not in str(told.value)


def test_rows_that_are_not_those_of_the_training_are_noticed():
    verdict = certify(SVC().fit(X, Y), X + 1.0, Y, time_limit=0.0)
    assert verdict.dual is None and "are these the rows of the training?" in verdict.notes[0]


@pytest.mark.slow
def test_a_tie_of_votes_is_no_difference():
    """scikit-learn takes the first class among equal votes, and svmkit that of the larger decisions."""
    rows, digit = load_digits(return_X_y=True)
    machine = SVC().fit(rows, digit)
    model = SVMModel.from_sklearn(machine)
    assert (model.predict(rows) != machine.predict(rows)).any()
    assert not certify(machine, rows, digit, time_limit=0.0).notes
    machine.predict = lambda rows: np.roll(digit, 1)
    assert "its own predictions differ" in certify(machine, rows, digit, time_limit=0.0).notes[0]


def test_predictions_that_are_not_those_of_the_coefficients_are_noticed():
    """https://github.com/Xtra-Computing/thundersvm/issues/270 is about such a model."""
    machine = SVC().fit(X, Y)
    machine.predict = lambda rows: np.zeros(len(rows), dtype=int)
    verdict = certify(machine, X, Y)
    assert "its own predictions differ from those of its coefficients in" in verdict.notes[0]
    assert verdict.score == np.mean(Y == 0)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_model_that_imputes_and_scales_is_judged_on_rows_with_holes(kernel):
    holes = X.copy()
    holes[::7, 1] = np.nan
    model = SVMClassifier(kernel=kernel, impute="median", scale="standard", tol=1e-8).fit(holes, Y)
    filled = np.where(np.isnan(holes), np.nanmedian(holes, axis=0), holes)
    scaled = StandardScaler().fit_transform(filled)
    plain = SVMClassifier(kernel=kernel, tol=1e-8).fit(scaled, Y)
    for verdict in (certify(model, holes, Y), certify(model.model_, holes, Y)):
        assert verdict.gap <= 1e-6 and verdict.primal == pytest.approx(certify(plain, scaled, Y).primal, rel=1e-7)
    with pytest.raises(InputError, match="NaN at row 1, column 2"):
        certify(plain, holes, Y)


def test_a_model_of_a_table_is_judged_on_the_table():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abcd")).assign(town=np.where(np.arange(M) % 4, "Bern", "Chur"))
    model = fit(frame, Y, kernel=RBF("scale")).model
    assert certify(model, frame[["town", *"dcba"]], Y).gap <= 1e-3
