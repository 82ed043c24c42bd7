"""Text models that are read, and read again once they have been written; a test file says by which `write`."""

import pytest

from svmkit.model.exchange.reading import read_text_model
from svmkit.model.model import SVMModel


@pytest.fixture
def read(tmp_path):
    """read(text) -> SVMModel, which has been through a model file."""

    def from_text(text, n_features=None):
        file = tmp_path / "text.model"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        read_text_model(file, n_features).save(tmp_path / "m.svmkit")
        return SVMModel.load(tmp_path / "m.svmkit")

    return from_text


@pytest.fixture
def again(tmp_path, read, write):
    """again(model) -> the model that is read from the text that is written of it."""

    def through_text(model):
        written = write(model, tmp_path / "out.model")
        content = (tmp_path / "out.model").read_bytes()
        assert written.n_bytes == len(content)
        return read(content, model.n_features)

    return through_text
