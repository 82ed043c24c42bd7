"""Model files of earlier versions: they load and predict as they did."""

from pathlib import Path

import numpy as np
import pytest
from support.model import colours

from svmkit.model import file as model_file
from svmkit.model.model import SVMModel

FILE = Path(__file__).parent / "format_1.model"  # fit(*colours(), kernel=RBF("scale"), C=2.0, scale="standard")


def test_a_file_of_format_1_loads_and_predicts():
    X, y = colours()
    model = SVMModel.load(FILE)
    assert model.classes.tolist() == ["blue", "green", "red"] and model.n_support.sum() == 80
    assert model.about == {"solver": "swap2o", "C": 2.0, "n_samples": 90} and model.scaling.kind == "standard"
    want = [
        [0.15909489081865047, -0.10314810211635361, -0.19958630064624217],
        [-0.5293088382849316, -1.0084809144193443, -0.23558635318890708],
    ]
    np.testing.assert_allclose(model.decision_function(X[:2]), want, rtol=1e-10)
    assert model.predict(X[:6]).tolist() == ["red", "red", "red", "blue", "green", "red"]
    assert (model.predict(X) == y).mean() > 0.8


def test_it_is_written_as_it_was(tmp_path):
    SVMModel.load(FILE).save(tmp_path / "m")
    (arrays, header), (again, new) = (model_file.read(file, "model") for file in (FILE, tmp_path / "m"))
    header["kernel"]["package"] = new["kernel"]["package"]  # it names a version of svmkit
    assert header == new and arrays.keys() == again.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, again[name])


def test_classes_keep_their_dtype_unless_it_is_wider_than_any_label():
    longest = "b" * (model_file.NO_LABEL + 1)
    header = {"classes": ["a", longest], "classes_dtype": f"<U{len(longest)}"}
    assert model_file._classes(header).tolist() == ["a", longest]
    with pytest.raises(ValueError, match="wider than any of them"):
        model_file._classes(header | {"classes_dtype": f"<U{len(longest) + 1}"})
    assert model_file._classes({"classes": ["a", "bc"], "classes_dtype": "<U9"}).dtype == "<U9"
