"""A data set as MLflow lists it under "Datasets used"."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from svmkit.data import Dataset


def dataset_input(data: Dataset) -> Any:
    """The entry for "Datasets used": name, digest, shape and dtype, but none of the rows."""
    from mlflow.entities import Dataset as LoggedDataset
    from mlflow.entities import DatasetInput, InputTag

    digest = data.fingerprint()
    n, d = data.X.shape

    def tensor(dtype: Any, *shape: int) -> str:
        return json.dumps([{"type": "tensor", "tensor-spec": {"dtype": str(dtype), "shape": shape}}])

    targets = None if data.y is None else tensor(data.y.dtype if data.y.dtype.kind != "U" else "str", -1)
    schema = {"mlflow_tensorspec": {"features": tensor(data.X.dtype, -1, d), "targets": targets}}
    entry = LoggedDataset(
        name=data.name[:500] or "data",
        digest=digest[:36],
        source_type="svmkit",
        source=json.dumps({"name": data.name, "sha256": digest}),
        schema=json.dumps(schema),
        profile=json.dumps({"num_rows": n, "num_features": d, "sparse": hasattr(data.X, "toarray")}),
    )
    return DatasetInput(entry, [InputTag("mlflow.data.context", "training")])
