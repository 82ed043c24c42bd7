"""`svmkit models serve` of registered models, one on loopback: labels as ours, refusals that say what is wrong."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from support.cli import HOLED, people
from support.registry import X, make_model
from svmkit_registry import loader

from svmkit import kernels
from svmkit.data import load
from svmkit.errors import InputError, SvmkitWarning
from svmkit.model.model import SVMModel

pytestmark = pytest.mark.posix

# no proxy stands between two processes of this machine
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@contextmanager
def serving(name, folder):
    """post(body, type) -> (status, answer) of `svmkit models serve models:/name/1`, ended at the end."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["svmkit", "models", "serve", f"models:/{name}/1"]
    scripts = os.path.dirname(sys.executable)
    path = [place for place in os.environ["PATH"].split(os.pathsep) if place != scripts]  # no activated environment
    env = os.environ | {"MLFLOW_TRACKING_URI": f"sqlite:///{folder}/mlflow.db", "PATH": os.pathsep.join(path)}
    with open(folder / "server.log", "wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", *command, "--host", "127.0.0.1", "--port", str(port)],
            cwd=folder,
            env=env,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )

    def post(body, content_type="application/json"):
        text = body if isinstance(body, str) else json.dumps(body)
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/invocations", text.encode(), {"Content-Type": content_type}
        )
        try:
            with OPENER.open(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    try:
        for _ in range(240):
            try:
                OPENER.open(f"http://127.0.0.1:{port}/ping", timeout=5).close()
                break
            except OSError:
                assert server.poll() is None, (folder / "server.log").read_text()
                time.sleep(0.25)
        else:
            pytest.fail((folder / "server.log").read_text())
        yield post
        assert server.poll() is None, (folder / "server.log").read_text()
    finally:
        os.killpg(server.pid, 15)  # MLflow, which the command became, and the uvicorn that it started
        server.wait(30)


@pytest.fixture
def registered(svmkit):
    """registered(name, *args) -> a model of `svmkit train --register`, in the store of this folder, from its file."""

    def train(name, *args):
        done = svmkit("train", *args, "--solver", "smo", "--register", name, "--out", "m.svmkit")
        assert done.code == 0, done.err
        return SVMModel.load("m.svmkit")

    return train


def loaded(name, folder):
    import mlflow

    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
    try:
        return mlflow.pyfunc.load_model(f"models:/{name}/1")
    finally:
        mlflow.set_tracking_uri(before)


def answering(model):
    """post(body, type) -> (status, answer) as of `serving`, by the function that MLflow's server calls."""
    from mlflow.exceptions import MlflowException
    from mlflow.pyfunc.scoring_server import invocations

    def post(body, content_type="application/json"):
        text = body if isinstance(body, str) else json.dumps(body)
        try:
            answer = invocations(text.encode(), content_type, model, model.metadata.get_input_schema())
        except MlflowException as error:
            return error.get_http_status_code(), json.loads(error.serialize_as_json())
        return answer.status, json.loads(answer.response)

    return post


def records(frame):
    return {"dataframe_split": frame.to_dict(orient="split", index=False)}


@pytest.mark.slow
def test_a_model_of_numbers_is_served(alone, tmp_path, registered):
    model = registered("iris-svm", "iris", "--scale", "standard")
    rows = load("iris").X[::5]
    expected = model.predict(rows).tolist()
    assert len(set(expected)) == 3
    assert loaded("iris-svm", tmp_path).predict(rows).tolist() == expected
    with serving("iris-svm", tmp_path) as post:
        frame = pd.DataFrame(rows)
        for body in (records(frame), {"instances": rows.tolist()}, {"inputs": rows.tolist()}):
            assert post(body) == (200, {"predictions": expected})
        assert post(frame.to_csv(index=False), "text/csv") == (200, {"predictions": expected})
        with ThreadPoolExecutor(8) as pool:  # at once
            assert list(pool.map(post, [records(frame)] * 24)) == [(200, {"predictions": expected})] * 24
        for body, words in (
            (records(frame.iloc[:, :3]), "4 inputs"),
            ({"instances": [[1.0, None, 3.0, 4.0]]}, "NaN at row 1, column 2"),
            ({"instances": [["a", "b", "c", "d"]]}, "'a'"),
            ("{no json", "JSON"),
        ):
            status, answer = post(body)
            assert status == 400 and words in answer["message"], answer
            assert "Traceback" not in str(answer)
        assert post(records(frame))[0] == 200


@pytest.mark.slow
def test_a_model_of_a_table_with_text_is_served(alone, tmp_path, registered):
    people("people.csv")
    model = registered("people-svm", "people.csv")
    frame = pd.read_csv("people.csv").drop(columns="answer")
    expected = model.predict(load("people.csv", encoding=model.encoding).X).tolist()
    assert set(expected) == {"no", "yes"}
    served = loaded("people-svm", tmp_path)
    assert served.predict(frame.astype({"age": float})).tolist() == expected
    post = answering(served)
    assert post(records(frame)) == (200, {"predictions": expected})
    assert post(records(frame[["score", "age", "city"]])) == (200, {"predictions": expected})
    assert post({"instances": frame.to_dict(orient="records")}) == (200, {"predictions": expected})
    status, answer = post(records(frame.drop(columns="city")))
    assert status == 400 and "'city'" in answer["message"] and "Traceback" not in str(answer)
    status, answer = post(records(frame.assign(age="old")))
    assert status == 400 and "age" in answer["message"] and "Traceback" not in str(answer)
    with pytest.warns(SvmkitWarning, match="lima"):  # a category that training never saw
        assert post(records(frame.assign(city="lima")))[0] == 200


@pytest.mark.slow
def test_a_model_that_imputes_is_served_null_for_holes(alone, tmp_path, registered):
    people("people.csv", rows=HOLED)
    model = registered("holes-svm", "people.csv", "--impute", "indicator", "--scale", "standard")
    frame = pd.read_csv("people.csv").drop(columns="answer")
    expected = model.predict(load("people.csv", encoding=model.encoding, holes=True).X).tolist()
    nulls = frame.astype(object).where(frame.notna(), None)
    assert nulls.isna().to_numpy().sum() == 17
    post = answering(loaded("holes-svm", tmp_path))
    assert post(records(nulls)) == (200, {"predictions": expected})
    assert post({"instances": nulls.to_dict(orient="records")}) == (200, {"predictions": expected})
    assert post(frame.to_csv(index=False), "text/csv") == (200, {"predictions": expected})


def test_a_refusal_is_one_of_ours_and_one_of_the_servers():
    predictor = loader.Predictor(make_model())
    for wrong, words in ((X[:, :3], "3 features.*expecting 4"), (np.full((1, 4), np.nan), "NaN at row 1")):
        with pytest.raises(InputError, match=words) as caught:
            predictor.predict(wrong)
        assert caught.value.get_http_status_code() == 400
        assert json.loads(caught.value.serialize_as_json())["message"] == str(caught.value)


def test_requests_are_answered_at_once():
    """Each of four predictions is in its kernel while the three others are."""
    meeting = threading.Barrier(4, timeout=60)

    def meet(X, Z):
        meeting.wait()
        return X @ Z.T

    predictor = loader.Predictor(replace(make_model(), kernel=kernels.FromFunction(meet)))
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(predictor.predict, [X] * 4))
    expected = replace(make_model(), kernel=kernels.Linear()).predict(X)
    for labels in found:
        np.testing.assert_array_equal(labels, expected)


@pytest.mark.threads
def test_labels_do_not_depend_on_other_requests():
    """Eight callers share the threads of compiled loops."""
    rows, predictor = np.tile(X, (100, 1)), loader.Predictor(make_model())
    expected = predictor.predict(rows)
    with ThreadPoolExecutor(8) as pool:
        for labels in pool.map(predictor.predict, [rows] * 40):
            np.testing.assert_array_equal(labels, expected)
