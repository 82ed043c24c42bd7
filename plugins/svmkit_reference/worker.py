"""The process for fits by other software: `python -m svmkit_reference.worker PARENT`, one request after another.

A request names an estimator, its parameters and the requested attributes, and contains X, y and sample weights. The
process ends when its parent does, for whatever reason, and after a minute without a request.
"""

from __future__ import annotations

import os
import select
import sys
import warnings
from importlib import import_module

import numpy as np
import scipy.sparse as sp

from svmkit.runtime.workers import end_with
from svmkit_reference.messages import receive, send

IDLE = 60.0  # seconds without a request after which the process ends


def answer(header: dict, arrays: dict[str, np.ndarray]) -> tuple[dict, dict[str, np.ndarray]]:
    """Return the answer to a request: the attributes of the fitted estimator, or an error in one line."""
    if header["name"] is None:  # only the import is requested
        import_module(header["module"])
        return {}, {}
    X = arrays.get("X")
    if X is None:
        X = sp.csr_matrix(tuple(arrays[name] for name in ("data", "indices", "indptr")), shape=header["shape"])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the status reports exhausted iterations
            model = getattr(import_module(header["module"]), header["name"])(**header["params"])
            model.fit(X, arrays["y"], sample_weight=arrays["weights"])
        attributes = {name: getattr(model, name) for name in header["wanted"]}
        dense = {name: value.toarray() if sp.issparse(value) else value for name, value in attributes.items()}
        return {}, {name: np.atleast_1d(np.asarray(value)) for name, value in dense.items()}
    except Exception as error:
        return {"error": " ".join(str(error).split()) or type(error).__name__}, {}


def main() -> None:
    """Answer requests on standard input until it ends."""
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # the software's output must not mix with answers
    end_with(int(sys.argv[1]))
    while select.select([requests], [], [], IDLE)[0]:
        try:
            request = receive(requests)
        except EOFError:
            return
        send(answers, *answer(*request))


if __name__ == "__main__":
    main()
