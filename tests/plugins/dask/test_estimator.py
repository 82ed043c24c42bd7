"""DaskSVMClassifier: Dask collections and files in, lazy arrays out, and a plain model at the end."""

import os
import pickle
import signal
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from support.parts import three_classes
from support.refusals import refused

from svmkit import SVMClassifier, SVMRegressor, fit
from svmkit.kernels.functions import RBF
from svmkit.losses import Quantile
from svmkit.problems.certificate import Certificate
from svmkit.solver.solution import Status
from svmkit.training.train import fit_prepared

pytest.importorskip("distributed")
import dask
import dask.array as da
from distributed import Client, LocalCluster
from svmkit_dask import DaskSVMClassifier, DaskSVMRegressor, estimators
from svmkit_dask.dfcsmo import DFCSMO

X, Y = three_classes(240)
SMALL = {"solver": "dfcsmo", "solver_options": {"first": 30}, "gamma": 0.3, "tol": 1e-4}


@pytest.fixture(scope="module")
def client():
    """Two workers in this process, which start at once."""
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0", memory_limit=0)
    with cluster, Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def arrays():
    return da.from_array(X, chunks=(90, 2)), da.from_array(Y, chunks=100)


@pytest.fixture(scope="module")
def fitted(client, arrays):
    return DaskSVMClassifier(**SMALL).fit(*arrays)


@pytest.mark.slow
def test_arrays_are_trained_on_and_predictions_are_lazy(fitted, arrays):
    plain = SVMClassifier("smo", gamma=0.3, tol=1e-4).fit(X, Y)
    assert fitted.gap_ <= 1e-4 and (fitted.classes_ == plain.classes_).all()
    assert fitted.bound_ == pytest.approx(plain.bound_, rel=3e-4)
    predicted, decision = fitted.predict(arrays[0]), fitted.decision_function(arrays[0])
    assert isinstance(predicted, da.Array) and predicted.chunks == ((90, 90, 60),)
    assert (decision.chunks, decision.dtype) == (((90, 90, 60), (3,)), np.float64)
    assert (predicted.compute() == fitted.to_local().predict(X)).all()
    assert (decision.compute() == fitted.to_local().decision_function(X)).all()
    assert (predicted.compute() == plain.predict(X)).mean() > 0.98
    assert fitted.score(*arrays) == pytest.approx((predicted.compute() == Y).mean())
    assert fitted.score(X, Y) == pytest.approx(fitted.score(arrays[0], Y))


@pytest.mark.slow
def test_frames_delayed_lists_and_files_give_the_same(client, fitted, tmp_path):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=Y)
    frame = dd.from_pandas(table, npartitions=3)
    for p, chunk in enumerate(np.split(np.arange(240), [90, 180])):
        table.iloc[chunk].to_csv(tmp_path / f"{p}.csv", index=False)
    lists = [[dask.delayed(v[lo : lo + 80]) for lo in range(0, 240, 80)] for v in (X, Y)]
    for given in ((frame, "kind"), (frame[["a", "b", "c"]], frame["kind"]), lists, (str(tmp_path / "*.csv"),)):
        machine = DaskSVMClassifier(**SMALL).fit(*given)
        assert machine.bound_ == pytest.approx(fitted.bound_, rel=3e-4) and machine.gap_ <= 1e-4
        assert (machine.predict(frame[["a", "b", "c"]]).compute() == fitted.predict(X)).mean() > 0.98


@pytest.mark.slow
def test_two_classes_with_weights(client):
    y, weights = (Y == "bee").astype(int), np.random.default_rng(0).uniform(0.5, 2.0, len(Y))
    machine = DaskSVMClassifier(**SMALL, class_weight="balanced")
    machine.fit(da.from_array(X, chunks=100), y, sample_weight=da.from_array(weights, chunks=100))
    plain = SVMClassifier("smo", gamma=0.3, tol=1e-4, class_weight="balanced").fit(X, y, sample_weight=weights)
    assert machine.bound_ == pytest.approx(plain.bound_, rel=3e-4)
    decision = machine.decision_function(da.from_array(X, chunks=(70, 3)))
    assert decision.ndim == 1 and np.abs(decision.compute() - plain.decision_function(X)).max() < 0.02
    at = da.from_array(X, chunks=100)
    assert machine.score(at, y, weights) == pytest.approx(plain.score(X, y, weights), abs=0.01)


@pytest.mark.slow
def test_chunks_of_a_worker_that_is_killed_are_made_anew(fitted, arrays, monkeypatch):
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=0)
    with cluster, Client(cluster, set_as_default=False) as client:
        pids = client.run(os.getpid)

        def killing(*args, **options):
            os.kill(min(pids.values()), signal.SIGKILL)
            return fit_prepared(*args, **options)

        monkeypatch.setattr(estimators, "fit_prepared", killing)
        machine = DaskSVMClassifier(**SMALL, client=client).fit(*arrays)
    assert machine.gap_ <= 1e-4 and machine.bound_ == pytest.approx(fitted.bound_, rel=3e-4)


@pytest.mark.slow
def test_targets_are_learnt_and_scored_on_the_workers(client, tmp_path):
    rng = np.random.default_rng(0)
    t, weights = np.sin(X[:, 0]) + 0.2 * rng.normal(size=len(X)) + 7.0, rng.uniform(0.5, 2.0, len(X))
    own = {"gamma": 0.5, "epsilon": 0.05, "tol": 1e-4}
    plain = SVMRegressor("smo", **own).fit(X, t, sample_weight=weights)
    at, targets = da.from_array(X, chunks=(90, 2)), da.from_array(t, chunks=100)
    machine = DaskSVMRegressor(**own).fit(at, targets, sample_weight=da.from_array(weights, chunks=70))
    assert machine.gap_ <= 1e-4 and machine.bound_ == pytest.approx(plain.bound_, rel=3e-4)
    predicted = machine.predict(at)
    assert isinstance(predicted, da.Array) and predicted.chunks == ((90, 90, 60),)
    assert np.abs(predicted.compute() - plain.predict(X)).max() < 0.02
    assert machine.score(at, targets) == pytest.approx(machine.to_local().score(X, t))
    assert machine.score(at, t, weights) == pytest.approx(machine.to_local().score(X, t, weights))
    again = pickle.loads(pickle.dumps(clone(machine).set_params(loss="squared_epsilon_insensitive", client=client)))
    assert again.client is None and again.loss == "squared_epsilon_insensitive"
    assert again.fit(at, targets).gap_ <= 1e-4
    upper = DaskSVMRegressor(DFCSMO(loss=Quantile(tau=0.9)), gamma=0.5).fit(at, targets)
    assert upper.gap_ <= 1e-3 and (t <= upper.predict(X)).mean() == pytest.approx(0.9, abs=0.03)
    assert type(machine.to_local()) is SVMRegressor and (X[machine.support_] == machine.support_vectors_).all()
    refused(["nu", "SVMRegressor"], DaskSVMRegressor(nu=0.5).fit, at, targets)
    refused(["solver smo", "dfcsmo"], DaskSVMRegressor("smo").fit, at, targets)
    refused(["y is 7"], DaskSVMRegressor().fit, at, da.full(len(X), 7.0, chunks=100))


@pytest.mark.slow
def test_it_is_cloned_pickled_and_made_plain(fitted, client):
    machine = DaskSVMClassifier(C=3.0, client=client)
    assert machine.get_params()["client"] is client and machine.get_params()["C"] == 3.0
    assert repr(DaskSVMClassifier(C=3.0)) == "DaskSVMClassifier(C=3.0)"
    copy = clone(machine.set_params(kernel="linear"))
    assert (copy.kernel, copy.C) == ("linear", 3.0) and copy.client is client
    again = pickle.loads(pickle.dumps(fitted.set_params(client=client)))
    fitted.set_params(client=None)
    assert again.client is None and (again.predict(X) == fitted.predict(X)).all()
    local = pickle.loads(pickle.dumps(fitted.to_local()))
    assert type(local) is SVMClassifier and (local.support_ == fitted.support_).all()
    assert (X[local.support_] == local.support_vectors_).all()
    assert not hasattr(fitted.to_local(), "client")


@pytest.mark.slow
def test_a_warning_says_why_a_model_is_only_the_best_so_far(client, arrays, monkeypatch):
    done = fit(X, Y, kernel=RBF(0.3))
    lost = Certificate(1.0, None, None, flaw="the cluster is gone")
    solutions = [replace(solution, status=Status.INTERRUPTED, certificate=lost) for solution in done.solutions]
    monkeypatch.setattr(estimators, "fit_prepared", lambda *args, **options: replace(done, solutions=solutions))
    with pytest.warns(ConvergenceWarning, match="^the model is the best so far: the cluster is gone$"):
        DaskSVMClassifier(**SMALL).fit(*arrays)


def test_what_a_cluster_cannot_do_is_refused_in_one_line(client, arrays, tmp_path):
    machine = DaskSVMClassifier
    refused(["ndarray", "SVMClassifier", "dask array"], machine().fit, X, Y)
    refused(["y is missing"], machine().fit, arrays[0])
    refused(["files hold their labels"], machine().fit, "parts/*.svm", Y)
    refused(["no file matches"], machine().fit, str(tmp_path / "*.svm"))
    refused(["solver smo", "dfcsmo"], machine("smo").fit, *arrays)
    refused(["crammer_singer", "ovo, ovr"], machine(kernel="linear", multiclass="crammer_singer").fit, *arrays)
    for option, value in (("calibration", "sigmoid"), ("nu", 0.1), ("warm_start", True), ("max_support", 9)):
        refused([option, "SVMClassifier"], machine(**{option: value}).fit, *arrays)
    with pytest.raises(TypeError, match="DaskSVMClassifier has no option 'gama'"):
        machine(gama=1.0)
    fitted = machine(**SMALL).fit(arrays[0], da.from_array(Y == "bee", chunks=100))
    refused(["4 features", "expecting 3"], fitted.predict, da.zeros((4, 4)))
    bad = da.concatenate([arrays[0][:90], da.full((90, 3), np.nan), arrays[0][180:]])
    refused(["part 2 of 3", "NaN"], machine().fit, bad, Y)


def test_without_a_client_it_says_so(arrays):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("distributed.default_client", lambda: (_ for _ in ()).throw(ValueError("No clients found")))
        refused(["no Dask client", "client="], DaskSVMClassifier().fit, *arrays)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("task", ["classify", "regress"])
def test_scores_of_collections_are_those_of_arrays(task, weighted):
    """With the weights of rows that were given, and all alike without; wherever the model was trained."""
    rng = np.random.default_rng(0)
    target = Y if task == "classify" else X[:, 0] + rng.normal(size=len(X))
    plain = (SVMClassifier if task == "classify" else SVMRegressor)("smo", C=0.1).fit(X[::3], target[::3])
    own = (DaskSVMClassifier if task == "classify" else DaskSVMRegressor)(**SMALL)
    for name, value in vars(plain).items():
        if name.endswith("_"):
            setattr(own, name, value)
    own._client = lambda: SimpleNamespace(compute=lambda lazy: SimpleNamespace(result=lazy.compute))
    weights = rng.uniform(0.1, 2.0, len(Y)) if weighted else None
    at, t = da.from_array(X, chunks=(90, 2)), da.from_array(target, chunks=100)
    lazy = None if weights is None else da.from_array(weights, chunks=70)
    expected = plain.score(X, target, weights)
    assert 0.1 < expected < 0.999
    for y, given in ((t, lazy), (target, weights)):
        with dask.config.set(scheduler="synchronous"):
            assert own.score(at, y, given) == pytest.approx(expected, rel=1e-9)
