"""svmkit show: the contents of a model file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from svmkit.cli.option_table import Options, argument, takes
from svmkit.problems.schemes import SCHEMES

if TYPE_CHECKING:
    from svmkit.model.model import SVMModel

NAMES = 12  # names of columns, or labels of classes, in a line, at most
_WORDS = {"n_samples": "rows", "n_test": "test rows", "test_data": "test set", "svmkit_version": "svmkit"}

_TASKS = {"regress": "regression", "outliers": "outliers", "rank": "ranking"}


@takes("show", argument("model", str, "Model file, or models:/name@alias."))
def show(options: Options) -> None:
    """Show MODEL: kernel, classes or task, vectors, columns, scaling, accuracy or R2, and lineage."""
    from svmkit.cli.common import emit, load_model, rows

    model = options.model
    loaded = load_model(model, options.tracking_uri)
    about, is_linear = describe(loaded), loaded.holds_weights
    if options.json:
        emit({"model": model} | about)
        return
    kernel, vectors, columns, label = (about[key] for key in ("kernel", "vectors", "columns", "label"))
    scaling, of_class = about["scaling"], about["n_support"]
    counts = list(of_class) if is_linear else [f"{k} ({n:,})" for k, n in of_class.items()]
    of_each = "" if is_linear else " with their vectors"
    rows(
        [
            ("model", model),
            ("kernel", kernel["name"] + (f" ({_pairs(kernel['params'])})" if kernel["params"] else "")),
            ("task", _TASKS.get(about["task"])),
            ("decisions", SCHEMES[about["multiclass"]].decisions if len(counts) > 2 else None),
            ("classes", f"{len(counts):,}{of_each}: {_first(counts)}" if counts else None),
            ("weights" if is_linear else "vectors", f"{vectors['n']:,}, {vectors['storage']}, {vectors['dtype']}"),
            ("features", f"{about['n_features']:,}"),
            ("columns", columns and f"{len(columns):,}: {_first([_text(column['name']) for column in columns])}"),
            ("label", label and _text(label)),
            ("imputing", about["imputing"] or "none"),
            ("scaling", scaling or "none"),
            *(
                (_WORDS.get(key) or _text(key.replace("_", " ")), _text(value))
                for key, value in about["about"].items()
                if key not in ("minimised", "row_keys")  # in the solver's words elsewhere; no words
            ),
        ]
    )


def describe(model: SVMModel) -> dict[str, Any]:
    """Return the facts in the header of a model file, as plain values: the keys of `svmkit show --json`.

    Columns and label are None unless the model was trained on a table; `about` is taken from the file.
    """
    vectors, encoding = model.vectors, model.encoding
    dense = {1: "row numbers of a precomputed kernel", 2: "dense"}
    return {
        "task": model.task,
        "kernel": {"name": model.kernel.name, "params": model.kernel.params},
        "classes": model.classes.tolist(),
        "multiclass": model.multiclass,
        "n_support": {str(label): int(n) for label, n in zip(model.classes, model.n_support, strict=False)},
        "vectors": {
            "n": int(vectors.shape[0]),
            "storage": "sparse" if hasattr(vectors, "indptr") else dense[vectors.ndim],
            "dtype": str(vectors.dtype),
        },
        "n_features": model.n_features,
        "columns": encoding
        and [
            {"name": name, "categories": None if categories is None else list(categories)}
            for name, categories in zip(encoding.columns, encoding.categories, strict=True)
        ],
        "label": encoding and encoding.label,
        "imputing": model.imputing and model.imputing.kind,
        "scaling": model.scaling and model.scaling.kind,
        "about": model.about,
    }


def _first(names: list[str]) -> str:
    return ", ".join(names[:NAMES]) + (f" and {len(names) - NAMES:,} more" if len(names) > NAMES else "")


def _pairs(values: dict[str, Any]) -> str:
    return ", ".join(f"{_text(key)}={_text(value)}" for key, value in values.items())


def _text(value: Any) -> str:
    """Return a value as text."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, dict):
        return _pairs(value)
    if isinstance(value, list):
        return _first([_text(entry) for entry in value])
    return str(value)
