"""The options of `svmkit train`, checked before any data is read, and the method that they name."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from svmkit import plugins, tracking
from svmkit.cli.common import require_model_name
from svmkit.cli.option_table import EPSILON, TOL, Options, defaults
from svmkit.cli.options import (
    class_weights,
    key_values,
    reading,
    require_calibrate,
    require_regression,
    require_task,
    seconds,
    stop_rules,
)
from svmkit.data import Dataset
from svmkit.data.classes import REGRESS
from svmkit.data.prepare import imputing, scaling
from svmkit.data.prepare.reading import Reading
from svmkit.errors import InputError
from svmkit.kernels.functions import Kernel
from svmkit.kernels.gram import parse_bytes
from svmkit.model.one_vs_rest import MODES
from svmkit.runtime import files, threads
from svmkit.scoring.metric import require_metric
from svmkit.solver.base import Solver
from svmkit.solver.sampler import Sampler
from svmkit.solver.selection import by_name
from svmkit.solver.selection.nu import with_nu
from svmkit.solver.stopping import Criterion, Stop, is_limited
from svmkit.training import settings as trained
from svmkit.training.checkpoint import EVERY

OUTLIERS = "outliers"  # the task of `svmkit train` that needs no labels
STREAM = "-"  # the DATA argument for standard input

_OF_A_STREAM = ("classes", "on_error", "block")
_OF_A_TABLE = ("decimal", "encoding", "drop", "only", "categorical")
_NOT_OF_A_STREAM = {
    "test_size": "rows cannot be held out of a stream: give --test FILE",
    "checkpoint": "a stream cannot be taken up again: leave --checkpoint out",
    "curve": "the accuracy on a stream is measured ahead of learning: leave --curve out",
    "multiclass": "a stream trains class pairs: leave --multiclass out",
    "calibrate": "a stream cannot be divided into the folds of a calibration: leave --calibrate out",
    "impute": "the lines of a stream have no holes: leave --impute out",
    "label": "the lines of a stream begin with their label: leave --label out",
    **{name: f"a stream is svmlight and no table: leave --{name} out" for name in _OF_A_TABLE},
    "sampler": "samples are looked at in the order of the stream: leave --sampler out",
    "stop": "how far from optimal the model of a stream is cannot be known: leave --stop out",
    "tol": "how far from optimal the model of a stream is cannot be known: leave --tol out",
    "nu": "a stream has no fractions to bound: leave --nu out",
    "max_iter": "a stream ends with its lines: cut it (head -n LINES), or give --time-limit",
}


class TrainOptions(Options):
    """The options of `svmkit train`, named as on the command line; an option that was not given is None.

    `svmkit tune` has most of these options, too; the others keep their defaults.

    Raises
    ------
    InputError
        A value cannot be used, or two options contradict each other.
    """

    tol: float
    metric: str | None

    def __init__(self, **given: Any) -> None:
        super().__init__(**(defaults("train") | given))
        require_task(self.task, OUTLIERS)
        _ = self.reading  # refuses what cannot be used
        if self.is_stream:
            self._require_of_a_stream()
        else:
            for name in _OF_A_STREAM:
                if getattr(self, name) is not None:
                    raise InputError(f"--{name.replace('_', '-')} belongs to a stream: svmkit train {STREAM}")
        if self.tol is None:  # not given: a stream refuses a tolerance, also the default one
            self.tol = TOL
        if self.test and self.test_size is not None:
            raise InputError("give --test or --test-size, not both")
        if self.test_size is not None and not 0 < self.test_size < 1:
            raise InputError(f"--test-size must be between 0 and 1, not {self.test_size}")
        if self.resume and not (self.checkpoint or self.out):
            raise InputError("--resume needs --checkpoint FILE, or --out MODEL to start from")
        if self.every is not None:
            seconds(self.every, "--every")
            if not self.checkpoint:
                raise InputError("--every needs --checkpoint FILE")
        if self.curve and not self.test and self.test_size is None:
            raise InputError("--curve needs --test or --test-size to measure on")
        if not (self.C > 0 and math.isfinite(self.C)):
            raise InputError(f"-C must be a finite number > 0, not {self.C}")
        require_regression(self.task, self.epsilon, self.class_weight)
        kinds = ("none", *scaling.KINDS)
        if self.scale not in kinds:
            raise InputError(f"--scale {self.scale!r} is not known; there are: {', '.join(kinds)}")
        if self.impute is not None and self.impute not in imputing.KINDS:
            raise InputError(f"--impute {self.impute!r} is not known; there are: {', '.join(imputing.KINDS)}")
        if self.register is not None and self.no_track:
            raise InputError("--register needs the tracker: leave --no-track out")
        if self.register is not None:
            require_model_name(self.register)
        if self.metric is not None:
            self.metric = require_metric(self.metric, probabilities=self.calibrate is not None)
        require_calibrate(self.calibrate, self.task)
        parse_bytes(self.memory)
        with threads.using(self.threads):
            pass
        if self.multiclass not in (None, *MODES):
            raise InputError(f"--multiclass {self.multiclass!r} is not known; there are: {', '.join(MODES)}")
        if self.force and not self.out:
            raise InputError("--force needs --out FILE, which it replaces")
        for path in (self.out, self.checkpoint):
            if path:
                files.require_writable(path)

    def _require_of_a_stream(self) -> None:
        for name, reason in _NOT_OF_A_STREAM.items():
            if self.has(name):
                raise InputError(reason)
        if self.max_epochs not in (None, 1):
            raise InputError("a stream is looked at once: leave --max-epochs out")

    @property
    def is_stream(self) -> bool:
        """Whether the samples come from standard input."""
        return self.data == STREAM

    @property
    def is_kept(self) -> bool:
        """Whether the model is kept after this process, in a file or by the tracker."""
        return bool(self.out) or not self.no_track

    @property
    def starts_at_model(self) -> bool:
        """Whether training starts at the model in `out`; a checkpoint takes precedence."""
        return self.resume and not self.checkpoint

    @property
    def interval(self) -> float:
        """The seconds between two writes of the checkpoint."""
        return EVERY if self.every is None else seconds(self.every, "--every")

    @property
    def budgets(self) -> dict[str, float | None]:
        """The limits that end a training early, by name; None where there is none."""
        return {key: getattr(self, key) for key in ("max_iter", "max_epochs", "time_limit", "max_support")}

    @property
    def reading(self) -> Reading:
        """How a table is to be read."""
        return reading(self)


@dataclass(frozen=True)
class Method:
    """The solver, the kernel and the other settings of the optimisation, built from the options.

    Attributes
    ----------
    solver : Solver
        The solver.
    kernel : Kernel
        The kernel; its gamma may still be a rule such as "scale".
    C : float
        The weight of the summed losses.
    sampler : Sampler
        The points that each step looks at.
    stop : Criterion or Stop
        When to stop.
    class_weight : {"balanced"}, dict of str to float, or None
        The weight of each class.
    epsilon : float, default=EPSILON
        Half the width of the tube of regression.
    """

    solver: Solver
    kernel: Kernel
    C: float
    sampler: Sampler
    stop: Criterion | Stop
    class_weight: str | dict[str, float] | None
    epsilon: float = EPSILON

    @classmethod
    def of(cls, options: TrainOptions, task: str = "classify") -> Method:
        """Build the method that the options name, for data of this task.

        Raises
        ------
        InputError
            A name or value is unknown, or the solver cannot take the kernel.
        """
        stop = stop_rules(options.tol, options.stop, options.budgets)
        values = key_values(options.option, "-o")
        own = {key: value for key, value in values.items() if not key.startswith("kernel.")}
        limited = is_limited(stop) and options.nu is None and task == "classify"
        solver = with_nu(by_name.solver(plugins.build("solver", options.solver, own), limited=limited), options.nu)
        if options.multiclass == "crammer_singer":
            solver = by_name.of_all_classes(solver)
        given = {"gamma": options.gamma, "degree": options.degree, "coef0": options.coef0}
        of_kernel = {key: value for key, value in given.items() if value is not None}
        of_kernel |= {key.removeprefix("kernel."): value for key, value in values.items() if key not in own}
        name = by_name.kernel(None, for_solver=solver).name if options.kernel is None else options.kernel
        kernel = plugins.build("kernel", name, of_kernel)
        trained.require_scheme(options.multiclass or "ovo", kernel)
        solver.check_kernel(kernel)
        return cls(
            solver=solver,
            kernel=kernel,
            C=options.C,
            sampler=by_name.sampler(options.sampler) or solver.sampler_for(kernel),
            stop=stop,
            class_weight=class_weights(options.class_weight),
            epsilon=EPSILON if options.epsilon is None else options.epsilon,
        )

    def resolved(self, options: TrainOptions, task: Any = None) -> trained.Method:
        """Return the method as training takes it, for data of this task."""
        settings = trained.Settings(
            solver=self.solver,
            kernel=self.kernel,
            C=self.C,
            nu=options.nu,
            epsilon=self.epsilon,
            multiclass=options.multiclass or "ovo",
            class_weight=self.class_weight,
            impute=options.impute,
            scale=options.scale,
            memory=options.memory,
            calibration=options.calibrate,
            stop=self.stop,
            sampler=self.sampler,
            seed=options.seed,
            n_threads=options.threads,
        )
        return trained.resolve(settings, task)

    def params(self, kernel: Kernel, data: Dataset, options: TrainOptions) -> dict[str, Any]:
        """Return the parameters of a run with this method on `data`; `kernel` is the resolved kernel."""
        first = {key: getattr(options, key) for key in ("tol", "seed", "impute", "scale", "memory", "class_weight")}
        budgets = ("stop", "max_iter", "max_epochs", "time_limit", "max_support")
        rest = {
            key: getattr(options, key) for key in (*budgets, "label", "decimal", "encoding", "multiclass", "calibrate")
        }
        rest["task"] = data.task if data.task == REGRESS else options.task
        rest |= {key: ",".join(getattr(options, key)) or None for key in ("drop", "only", "categorical")}
        rest["epsilon"] = self.epsilon if data.task == REGRESS else None
        return tracking.params(self.solver, kernel, self.C, data, **first, sampler=str(self.sampler), **rest)
