"""Export of a model as source code, for devices and pages without Python: a C99 header, or plain JavaScript."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from svmkit._version import __version__
from svmkit.errors import InputError
from svmkit.kernels.forms import FORMS, Form
from svmkit.model.calibration import Sigmoid
from svmkit.model.model import SVMModel
from svmkit.model.source.numbers import ROUNDOFF, Numbers, collect_numbers, decision_error, is_pairwise
from svmkit.model.source.text import Language, write_functions
from svmkit.runtime import files

LIMIT = 1 << 23  # numbers in a file; compilers take minutes for more
LANGUAGES = "c", "js"
RESERVED = """arguments await break case catch class const continue debugger default delete do else enum eval export
    extends false finally for function if implements import in instanceof interface let module new null package
    private protected public return static super switch this throw true try typeof var void while with yield"""
"""Words of JavaScript, which name no constant."""


class Written(NamedTuple):
    """The file that `write` has written: its bytes, the bytes of its constants, and the bound on errors of decisions,
    for rows whose columns lie within `low` and `high` (n_features,).
    """

    path: str
    n_bytes: int
    constants: int
    error: float
    low: np.ndarray
    high: np.ndarray
    functions: list[str]


def write(model: SVMModel, path: str | os.PathLike, language: str = "c", dtype: str | None = None) -> Written:
    """Write a model as source code, atomically. Its functions are named after the file.

    Parameters
    ----------
    model : SVMModel
        With a built-in kernel other than the precomputed one, and columns of numbers.
    path : str or path
        The file.
    language : {"c", "js"}, default="c"
        A C99 header without allocation, or plain JavaScript.
    dtype : {"float32", "float64"}, default=None
        The type of numbers; None takes float32 for C. JavaScript has float64 only.

    Raises
    ------
    InputError
        The model has no such form, a number goes beyond the type, or the path cannot be written.

    Examples
    --------
    >>> from svmkit import fit
    >>> from svmkit.model.source import export
    >>> model = fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).model
    >>> written = export.write(model, "levels.h")
    >>> written.functions
    ['levels_decision', 'levels_predict']
    """
    if language not in LANGUAGES:
        raise InputError(f"language {language!r} is not known: give {' or '.join(LANGUAGES)}")
    dtype = dtype or ("float32" if language == "c" else "float64")
    if dtype not in ROUNDOFF or (language == "js" and dtype != "float64"):
        raise InputError(f"dtype {dtype!r} is not known: give float32 or float64 for C; JavaScript has float64 only")
    _require_source(model)
    numbers = collect_numbers(model)
    if sum(each.size for each in numbers if each is not None) > LIMIT:
        rows, width = numbers.vectors.shape
        raise InputError(f"source code of {rows:,} x {width:,} numbers is too long: train with fewer (--max-support)")
    error = 1.005 * float(decision_error(model, numbers, dtype).max())  # what three digits say is a bound, too
    name = re.sub(r"\W", "_", Path(path).stem, flags=re.ASCII) or "model"
    name = f"_{name}" if name[0].isdigit() or name in RESERVED.split() else name
    spelt = Language(language == "c", name, dtype)
    about = _about(model, dtype, error, numbers)
    text = _file(spelt, about, write_functions(model, numbers, spelt), _names(model)).encode()
    files.write(path, text)
    more = [
        model.imputing.statistics if model.imputing else None,
        *(vars(model.calibration).values() if model.calibration else []),
    ]
    stored = [each for each in (*numbers[:5], *more) if isinstance(each, np.ndarray)]
    constants = sum(each.size for each in stored) * np.dtype(dtype).itemsize
    joint = "_" if spelt.is_c else "."
    functions = [f"{name}{joint}{each}" for each in _names(model)]
    return Written(str(path), len(text), constants, error, numbers.low, numbers.high, functions)


def _require_source(model: SVMModel) -> None:
    kernel, other = model.kernel, "use --onnx, or svmkit predict"
    if kernel.name == "precomputed":
        raise InputError(
            "a model of a precomputed kernel matrix reads kernel values, not columns: it has no source code"
        )
    if kernel.form is None:
        built_in = ", ".join(form.name for form in FORMS)
        raise InputError(f"the kernel {kernel.name!r} is code of a plugin: only {built_in} have source code")
    if kernel.form is not Form.LINEAR and model.vectors.shape[0] == 0:
        raise InputError("the model has no vectors: its decisions are constant")
    if model.encoding is not None and not all(model.encoding.numeric):
        raise InputError(f"the model encodes columns of text, which source code does not: {other}")
    if len(model.trained_pairs) < len(model.intercept):
        raise InputError(f"some decisions of the model were not trained, which source code does not tell: {other}")
    if model.calibration is not None and (is_pairwise(model) or not isinstance(model.calibration, Sigmoid)):
        raise InputError(
            "source code has probabilities of sigmoid calibrations only, of two classes or one against the rest "
            f"(--multiclass ovr), and of multinomial logistic regression: {other}"
        )


def _names(model: SVMModel) -> list[str]:
    return ["decision", *(["probability"] if model.calibration is not None else []), "predict"]


def _plain(text: object) -> str:
    """Return text that does not end a comment."""
    return re.sub(r"[^\w .,:=+()%-]", "_", str(text), flags=re.ASCII)


def _about(model: SVMModel, dtype: str, error: float, numbers: Numbers) -> list[str]:
    """Return the lines of the comment at the top of the file."""
    encoding, n = model.encoding, len(model.intercept)
    named = encoding.feature_names if encoding and encoding.header else [f"x{j + 1}" for j in range(model.n_features)]
    lines = [f"Written by svmkit {__version__}: kernel {_plain(model.kernel)}, {model.vectors.shape[0]} vectors.", ""]
    what = f"SVMModel.decision_function: {_meaning(model)}"
    lines += [f"decision(x, out): {n} number{'s' if n > 1 else ''}, as {what}.", "predict(x"]
    if model.outputs:
        lines[-1] += f", out): {n} numbers, of {', '.join(map(_plain, model.outputs))}."
    elif model.regresses:
        lines[-1] += "): the value."
    else:
        lines[-1] += "): the index of the class:"
        lines += [f"  {code} = {_plain(label)}" for code, label in enumerate(model.classes.tolist())]
    holes = "NaN is a hole, which is filled (not with -ffast-math)" if model.imputing else "NaN is not looked for"
    lines += ["", f"{dtype}: decisions differ by at most {error:.3g} from those of exact arithmetic on the same x,"]
    lines += ["with exp and tanh within 4 units of roundoff, for columns within these limits:"]
    lines += [
        f"  x[{j}] {_plain(name)}: {a:.9g} to {b:.9g}"
        for j, (name, a, b) in enumerate(zip(named, numbers.low.tolist(), numbers.high.tolist(), strict=True))
    ]
    return [*lines, f"{holes}."]


def _meaning(model: SVMModel) -> str:
    """Return the meaning of the decisions."""
    if model.outputs or model.regresses:
        return "one of each output" if model.outputs else "the prediction"
    if model.has_one_function:
        return "above 0 for index 1"
    return "one of each pair of classes a < b, above 0 for a" if is_pairwise(model) else "one of each class"


def _file(language: Language, about: list[str], parts: list[str], names: list[str]) -> str:
    comment = "/*\n" + "\n".join(f" * {line}".rstrip() for line in about) + "\n */\n"
    body = "\n\n".join(parts)
    if language.is_c:
        guard = f"{language.name.upper()}_H"
        return f"{comment}#ifndef {guard}\n#define {guard}\n\n#include <math.h>\n\n{body}\n\n#endif\n"
    name, shown = language.name, ", ".join(names)
    return (
        f'{comment}const {name} = (function () {{\n"use strict";\n\n{body}\n\nreturn {{ {shown} }};\n}})();\n'
        f'if (typeof module !== "undefined") module.exports = {name};\n'
    )
