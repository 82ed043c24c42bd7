"""A model as an MLflow "python function" folder: svmkit's safetensors file, a signature, an example; no pickle."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from svmkit import plugins
from svmkit._version import __version__
from svmkit.data import Encoding
from svmkit.data.prepare.dates import text_of
from svmkit.model.model import SVMModel
from svmkit.tasks import task_named

FILE = "model.svmkit"
STORED = f"data/{FILE}"  # its place in mlflow's folder
PROBA = "proba"  # the parameter of a prediction that requests probabilities
SETS = "sets"  # the parameter that requests prediction sets, of a model with sets
WIDE = 1000  # number of columns from which a signature is one tensor
EXAMPLE_ROWS = 5
_packing = threading.Lock()  # runs may be logged in several threads


def write_folder(folder: str | Path, model: SVMModel, example: Any, **meta: Any) -> None:
    """Write the folder that mlflow.pyfunc.load_model reads, which does not exist yet, with the first five rows of
    `example`; `meta` are fields of mlflow.models.Model: model_id, run_id, ... Raises InputError: the kernel of the
    model is not registered by a name.
    """
    import mlflow.pyfunc
    from mlflow.models import Model

    signature, shown = describe(model, example)
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / FILE
        model.save(file)
        with _skip_survey():
            mlflow.pyfunc.save_model(
                path=str(folder),
                loader_module="svmkit_registry.loader",
                data_path=str(file),
                mlflow_model=Model(**meta),
                signature=signature,
                input_example=shown,
                pip_requirements=requirements(model),
            )


@contextmanager
def _skip_survey() -> Iterator[None]:
    """Keep mlflow from surveying all installed packages, for 0.6 s, to warn of differing requirements: ours do not
    differ.
    """
    from mlflow.utils import environment

    name = "warn_dependency_requirement_mismatches"
    if not hasattr(environment, name):  # another version of mlflow may do it elsewhere
        yield
        return
    with _packing:
        survey = getattr(environment, name)
        setattr(environment, name, lambda requirements: None)
        try:
            yield
        finally:
            setattr(environment, name, survey)


def requirements(model: SVMModel) -> list[str]:
    """The packages that a server of the model needs; with this list mlflow does not search for them."""
    own = f"svmkit=={__version__}"
    kernel = plugins.requirement("kernel", model.kernel.name)
    return [own] if kernel in (own, None) else [own, kernel]


def describe(model: SVMModel, example: Any) -> tuple[Any, Any]:
    """Return the signature of a model for mlflow, and an input example made of rows of X.

    - A model of a table with text columns takes that table: its columns by name, numbers and text, dates as text.
    - A dense model of fewer than 1000 features takes so many number columns: float32, float64, a list or a DataFrame
      (by the names of the training table when it has them all, else in order); it computes in float64.
    - Any other model takes one tensor of the example's dtype, dense or scipy.sparse.csr_matrix.

    A classifier has the parameter `proba`, which requests probabilities; one without a calibration refuses it.
    A model with sets has the parameter `sets`, which requests them.
    """
    from mlflow.models import ModelSignature, infer_signature
    from mlflow.types import ColSpec, DataType, ParamSchema, ParamSpec, Schema

    rows = example[:EXAMPLE_ROWS]
    sparse = not isinstance(rows, np.ndarray) and hasattr(rows, "toarray")
    dense = np.asarray(rows.toarray() if sparse else rows)
    if dense.dtype.kind != "f":
        dense = dense.astype(np.float64)
    inferred = infer_signature(dense, model.predict(dense))
    asked = [name for name, has in ((PROBA, task_named(model.task).has_classes), (SETS, model.conformal)) if has]
    if asked:
        schema = ParamSchema([ParamSpec(name, DataType.boolean, default=False) for name in asked])
        inferred = ModelSignature(inferred.inputs, inferred.outputs, schema)
    encoding = model.encoding
    if encoding is not None and not all(encoding.numeric):
        kinds = zip(encoding.columns, encoding.numeric, strict=True)
        table = Schema([ColSpec(DataType.double if number else DataType.string, name) for name, number in kinds])
        return ModelSignature(table, inferred.outputs, inferred.params), as_table(encoding, dense)
    if sparse or hasattr(model.vectors, "toarray") or model.n_features >= WIDE:
        return inferred, dense
    import pandas as pd

    plain = Schema([ColSpec(DataType.double)] * model.n_features)
    names = encoding.columns if encoding is not None and encoding.header else None
    shown = pd.DataFrame(dense.astype(np.float64), columns=names)
    return ModelSignature(plain, inferred.outputs, inferred.params), shown


def as_table(encoding: Encoding, dense: np.ndarray) -> Any:
    """Decode rows (n, n_features) to the DataFrame they came from; unknown categories and holes of dates are ""."""
    import pandas as pd

    columns: dict[str, Any] = {}
    at = 0
    for name, categories, order in zip(encoding.columns, encoding.categories, encoding.dates, strict=True):
        if categories is None:
            numbers = dense[:, at].astype(np.float64)
            columns[name] = numbers if order is None else [text_of(day, order) for day in numbers.tolist()]
        else:
            block = dense[:, at : at + len(categories)]
            columns[name] = [categories[row.argmax()] if row.any() else "" for row in block]
        at += 1 if categories is None else len(categories)
    return pd.DataFrame(columns)
