"""From parts to a model: the optimum of data in one place, weights, checkpoints, and a cluster that goes away."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import SVC
from support.parts import Leaving, data_in_parts, three_classes
from support.refusals import refused
from svmkit_dask.dfcsmo import DFCSMO

from svmkit import fit
from svmkit.errors import Gone
from svmkit.kernels.functions import RBF, Linear, Precomputed
from svmkit.model.model import SVMModel
from svmkit.scoring.scores import Scores
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap, Iterations
from svmkit.training.checkpoint import Checkpoint
from svmkit.training.settings import Settings
from svmkit.training.train import fit_prepared

SMALL = DFCSMO(first=30)
FINE = Gap(1e-5)
X, Y = three_classes()


def trained(data, solver=SMALL, stop=FINE, **options):
    checkpoint = options.pop("checkpoint", None)
    return fit_prepared(data, Settings(solver=solver, stop=stop, **options), checkpoint=checkpoint)


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
@pytest.mark.parametrize(("loss", "other"), [("hinge", "smo"), ("squared_hinge", "smol2")])
@pytest.mark.parametrize(("kernel", "scale"), [(RBF("scale"), "standard"), (Linear(), None)])
@pytest.mark.slow
def test_the_optimum_is_that_of_the_rows_in_one_place(kernel, scale, loss, other, multiclass):
    same = {"multiclass": multiclass, "class_weight": {"bee": 3.0}, "scale": scale}
    whole = fit(X, Y, solver=other, kernel=kernel, stop=FINE, **same)
    found = trained(data_in_parts(X, Y, kernel=kernel, **same), DFCSMO(first=30, loss=loss))
    assert found.status is Status.CONVERGED and found.gap <= 1e-5
    assert found.objective == pytest.approx(whole.objective, rel=2e-5)
    assert found.model.kernel.scalars[1] == pytest.approx(whole.model.kernel.scalars[1], rel=1e-12)
    decisions = [model.decision_function(X) for model in (found.model, whole.model)]
    assert np.abs(decisions[0] - decisions[1]).max() < 0.02


@pytest.mark.slow
def test_two_classes_are_libsvms_with_weights_of_rows_on_sparse_parts():
    y, weights = np.where(Y == "bee", 1, -1), np.random.default_rng(1).uniform(0.0, 2.0, len(Y))
    weights[::7] = 0.0
    theirs = SVC(gamma=0.4, class_weight="balanced", tol=1e-6)
    theirs.fit(X, y, sample_weight=weights)  # by the rows of a class, not by their weights
    share = {label: len(y) / (2.0 * (y == label).sum()) for label in (-1, 1)}
    data = data_in_parts(sp.csr_array(X), y, weights=weights, kernel=RBF(0.4), class_weight=share)
    found = trained(data)
    assert np.abs(found.model.decision_function(X) - theirs.decision_function(X)).max() < 5e-3
    assert not set(found.support.tolist()) & set(range(0, len(y), 7))  # no part in the model
    balanced = data_in_parts(X, y, weights=weights, class_weight="balanced")
    whole = fit(X, y, solver="smo", kernel=RBF("scale"), class_weight="balanced", sample_weight=weights, stop=FINE)
    assert trained(balanced).objective == pytest.approx(whole.objective, rel=2e-5)


def test_the_model_is_a_plain_one_whose_accuracy_the_parts_count(tmp_path):
    data = data_in_parts(X, Y, ends=(5, 100), scale="standard")
    found = trained(data)
    found.model.save(tmp_path / "model.svmkit")
    model = SVMModel.load(tmp_path / "model.svmkit")
    assert (model.n_features, model.about["n_samples"], model.about["solver"]) == (3, len(Y), "dfcsmo")
    predicted, counted = model.predict(X), data.scores(model)
    expected = Scores.from_predictions(predicted, Y, model.classes)
    for name in ("classes", "rows", "predicted", "hits"):
        assert (getattr(counted, name) == getattr(expected, name)).all()
    scaled = model.scaling.apply(X)
    assert model.vectors == pytest.approx(scaled[found.support])  # they are the rows that they are said to be
    assert (np.repeat(model.classes, model.n_support) == Y[found.support]).all()


def test_a_killed_driver_goes_on_where_its_checkpoint_is(tmp_path):
    file = tmp_path / "checkpoint"
    budget = Gap(1e-9) | Iterations(40)
    first = trained(data_in_parts(X, Y), stop=budget, checkpoint=Checkpoint(file, every=0.0))
    assert first.status is Status.MAX_ITER
    again = trained(data_in_parts(X, Y), stop=FINE, checkpoint=Checkpoint(file, resume=True))
    assert again.status is Status.CONVERGED and again.gap <= 1e-5
    begun = [solution.history[0].n_iter for solution in again.solutions]
    assert min(begun) >= 40  # it did not begin anew
    other = np.where(np.arange(len(Y)) == 17, "ant", Y)
    for data, C in ((data_in_parts(X + 1e-9, Y), 1.0), (data_in_parts(X, other), 1.0), (data_in_parts(X, Y), 2.0)):
        refused(["checkpoint", "belongs to other"], trained, data, C=C, checkpoint=Checkpoint(file, resume=True))


@pytest.mark.parametrize("messages", [25, 40, 64])  # in the first problem, and at the beginning of the second
def test_a_cluster_that_goes_away_leaves_the_best_model_so_far(messages):
    data = data_in_parts(X, Y, executor=Leaving(messages))
    found = trained(data, stop=Gap(1e-9))
    assert (found.status, found.gap, found.flaw) == (Status.INTERRUPTED, None, "the cluster is gone")
    assert len(found.support) and found.n_untrained == 2
    assert (found.model.predict(X) == Y).mean() > 0.4
    assert np.isfinite(found.solutions[0].certificate.primal)


def test_a_cluster_that_goes_away_before_there_is_a_model_is_an_error():
    with pytest.raises(Gone, match="the cluster is gone"):
        trained(data_in_parts(X, Y, executor=Leaving(4)))


def test_what_cannot_be_trained_is_refused_in_one_line():
    one = np.array(["ant"] * len(Y))
    refused(["only one class", "ant"], data_in_parts, X, one)
    mixed = np.array([1] * 41 + ["b"] * (len(Y) - 41), dtype=object)
    refused(["labels are text", "numbers in part 1"], data_in_parts, X, mixed)
    refused(["crammer_singer", "ovo, ovr"], data_in_parts, X, Y, kernel=Linear(), multiclass="crammer_singer")
    refused(["precomputed"], data_in_parts, X, Y, kernel=Precomputed())
    refused(["weights are zero", "cat"], data_in_parts, X, Y, weights=(Y != "cat").astype(float))
    refused(["one place", "dfcsmo"], trained, data_in_parts(X, Y), "smo")


def test_a_problem_of_scattered_data_has_no_rows_here():
    pair = data_in_parts(X, Y).subproblem(0)
    assert len(pair.rows) == len(pair.weights) == pair.kernel_values == 0 and pair.name == "ant vs bee"
