"""The options of `svmkit compare`, and the comparison that they describe."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from svmkit.cli.option_table import Options, defaults
from svmkit.cli.options import (
    class_weights,
    key_values,
    label_column,
    require_calibrate,
    require_regression,
    require_task,
)
from svmkit.cluster import scheme_of
from svmkit.compare.plan.spec import Spec, load_spec, read
from svmkit.errors import InputError
from svmkit.runtime import files
from svmkit.scoring.metric import require_metric
from svmkit.tasks import TASKS

RESULTS = "svmkit-compare.jsonl"
_OF_SPEC = (
    *("data", "test", "test_size", "splits", "cv", "strict"),
    *("C", "nu", "loss", "epsilon", "kernel", "gamma", "degree", "coef0", "impute", "scale", "class_weight"),
    *("calibrate", "multiclass", "tol", "stop", "memory", "option", "metrics", "metric"),
    *("label", "decimal", "encoding", "drop", "only", "categorical", "task"),
)
_SPELT = {"data": "DATA", "C": "-C", "option": "-o"}


class CompareOptions(Options):
    """The options of `svmkit compare`, named as on the command line; an option that was not given is None or empty.

    Raises
    ------
    InputError
        A value cannot be used, or two options contradict each other.
    """

    def __init__(self, **given: Any) -> None:
        super().__init__(**(defaults("compare") | given))
        if self.spec:
            named = [_SPELT.get(name, f"--{name.replace('_', '-')}") for name in _OF_SPEC if self.has(name)]
            if named:
                raise InputError(f"{', '.join(named)}: write it into {self.spec}, or leave --spec out")
        else:
            self._require_comparison()
        if self.scheduler is not None:
            scheme_of(self.scheduler)
            if self.jobs != 1 or self.threads is not None:
                raise InputError("--scheduler runs a cell a worker, with its threads: leave --jobs and --threads out")
        require_task(self.task, *TASKS)
        require_calibrate(self.calibrate, self.task)
        require_regression(self.task, self.epsilon, self.class_weight)
        if self.time_limit is not None and not self.time_limit > 0:
            raise InputError(f"--time-limit must be > 0, not {self.time_limit}")
        for path in (self.report, self.latex, self.results):
            if path:
                files.require_writable(path)

    def _require_comparison(self) -> None:
        """Check the options that describe a comparison without a spec."""
        names = self.names
        if not self.data or not names:
            raise InputError("nothing to compare: give DATA... and --solvers a,b,c, or --spec FILE")
        if self.tol is not None and not 0 < self.tol < float("inf"):
            raise InputError(f"--tol must be a finite number > 0, not {self.tol}")
        if self.tol is not None and self.stop:
            raise InputError("give --tol or --stop, not both")
        if self.test and (self.test_size is not None or len(self.data) > 1):
            raise InputError("--test is for a single DATA, without --test-size")
        if self.cv and (self.test or self.test_size is not None or self.splits):
            raise InputError("--cv tests on its folds: leave --test, --test-size and --splits out")
        if self.splits and self.test:
            raise InputError("--splits holds rows out of DATA: leave --test out, or give --test-size")
        if len(set(names)) < len(names):
            raise InputError(
                f"--solvers {self.solvers}: a name comes twice; a spec can run one with two sets of options"
            )

    @property
    def names(self) -> list[str]:
        """The names in --solvers."""
        return _split(self.solvers)

    @property
    def store(self) -> str:
        """The file of the finished cells."""
        return self.results or (f"{Path(self.spec).stem}.jsonl" if self.spec else RESULTS)

    def comparison(self) -> Spec:
        """Return the comparison in the file of --spec, or the one that the other options describe.

        Raises
        ------
        InputError
            The spec cannot be read, or a name in it does not exist.
        """
        if self.spec:
            return load_spec(self.spec)
        own, kernel, of_loss = self._own_options()
        loss = {"name": self.loss, **of_loss} if of_loss else self.loss
        raw: dict[str, Any] = {
            "name": "comparison",
            "data": [str(name) for name in self.data or ()],
            "solvers": {name: {"options": own[name]} for name in self.names},
            "stop": self.stop or f"gap:{self.tol or 1e-3:g}",
            "seeds": self.repeat or 1,
        }
        named = {
            "gamma": list(self.gamma or ()),
            "C": list(self.C or ()),
            "nu": list(self.nu or ()),
            "loss": loss,
            "multiclass": list(self.multiclass or ()),
            "impute": self.impute,
            "scale": self.scale,
            "memory": self.memory,
            "metric": None if self.metric is None else require_metric(self.metric),
            "class_weight": class_weights(self.class_weight),
            "kernel": kernel,
            "test": self.test if self.test_size is None else self.test_size,
            "label": label_column(self.label),
            **{key: getattr(self, key) for key in ("decimal", "encoding", "task", "epsilon", "calibrate")},
            **{key: list(getattr(self, key)) for key in ("drop", "only", "categorical")},
            "splits": self.splits,
            "cv": self.cv,
            "strict": self.strict or None,
        }
        raw |= {key: value for key, value in named.items() if value not in (None, [])}
        return read(raw | ({"metrics": _split(self.metrics)} if self.metrics else {}))

    def _own_options(self) -> tuple[dict[str, dict[str, str]], Any, dict[str, str]]:
        """Return the options of each solver; the kernel, as a name, a map or None by default; the options of --loss."""
        own: dict[str, dict[str, str]] = {name: {} for name in self.names}
        given = {"degree": self.degree, "coef0": self.coef0}
        of_kernel = {key: value for key, value in given.items() if value is not None}
        of_loss: dict[str, str] = {}
        places = {"kernel": of_kernel, **({} if self.loss is None else {"": of_loss}), **own}
        for key, value in key_values(self.option, "-o").items():
            solver, _, name = key.rpartition(".")
            if solver not in places:
                alone = "" if self.loss is None else ", or KEY of --loss"
                raise InputError(
                    f"-o {key}={value}: write SOLVER.KEY=VALUE with one of {', '.join(own)}, or kernel.KEY{alone}"
                )
            places[solver][name] = value
        return own, {"name": self.kernel or "rbf", **of_kernel} if of_kernel else self.kernel, of_loss


def _split(text: str | None) -> list[str]:
    """Return the names in a text of names separated by commas."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]
