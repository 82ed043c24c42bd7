"""The options of `svmkit train`, checked before any data is read, and the method that they name."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from svmkit import plugins
from svmkit.cli.common import require_model_name
from svmkit.cli.option_table import EPSILON, TOL, Options, defaults
from svmkit.cli.options import (
    class_weights,
    key_values,
    options_with_loss,
    reading,
    require_calibrate,
    require_regression,
    require_task,
    seconds,
    stop_rules,
)
from svmkit.data.prepare import imputing, scaling
from svmkit.data.prepare.reading import Reading
from svmkit.errors import InputError
from svmkit.kernels.gram import parse_bytes
from svmkit.model.one_vs_rest import MODES
from svmkit.runtime import files, threads
from svmkit.scoring.metric import require_metric
from svmkit.tasks import TASKS, task_named
from svmkit.training.checkpoint import EVERY, Checkpoint
from svmkit.training.settings import Method, Settings, resolve

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
        require_task(self.task, *TASKS)
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

    def saver(self) -> Checkpoint | None:
        """Return what keeps the progress; None without --checkpoint."""
        if not self.checkpoint:
            return None
        return Checkpoint(self.checkpoint, resume=self.resume, every=self.interval)

    @property
    def budgets(self) -> dict[str, float | None]:
        """The limits that end a training early, by name; None where there is none."""
        return {key: getattr(self, key) for key in ("max_iter", "max_epochs", "time_limit", "max_support")}

    @property
    def reading(self) -> Reading:
        """How a table is to be read."""
        return reading(self)

    def settings(self, task: str | None = None) -> Settings:
        """Return what training needs to know besides the data of this task."""
        values = {k: v for k, v in key_values(self.option, "-o").items() if not k.startswith("kernel.")}
        supervised = task_named(task).is_supervised
        if self.loss is not None and supervised:
            values = options_with_loss(self.solver, values, self.loss, task, self.epsilon)
        return Settings(
            solver=self.solver,
            solver_options=values,
            loss=None if supervised else self.loss,
            kernel=None if self.kernel is None else plugins.build("kernel", self.kernel, self.kernel_params),
            C=self.C,
            nu=self.nu,
            epsilon=EPSILON if self.epsilon is None else self.epsilon,
            multiclass=self.multiclass or "ovo",
            class_weight=class_weights(self.class_weight),
            impute=self.impute,
            scale=self.scale,
            memory=self.memory,
            calibration=self.calibrate,
            stop=stop_rules(self.tol, self.stop, self.budgets),
            sampler=self.sampler,
            seed=self.seed,
            n_threads=self.threads,
        )

    @property
    def kernel_params(self) -> dict[str, Any]:
        """The parameters of the kernel, from options of their own and from -o kernel.KEY=VALUE."""
        own = {key: getattr(self, key) for key in ("gamma", "degree", "coef0") if getattr(self, key) is not None}
        named = {key: value for key, value in key_values(self.option, "-o").items() if key.startswith("kernel.")}
        return own | {key.removeprefix("kernel."): value for key, value in named.items()}

    def method(self, task: str | None = None) -> Method:
        """Return the solver, the kernel and all else that the options name, for data of this task.

        Raises
        ------
        InputError
            A name or value is unknown, or the solver cannot take the kernel.
        """
        task = task or self.task
        method = resolve(self.settings(task), task)
        if self.kernel is None and self.kernel_params:
            kernel = plugins.build("kernel", method.kernel.name, self.kernel_params)
            method = resolve(replace(method.settings, kernel=kernel), method.task)
        return replace(method, sampler=method.sampler or method.solver.sampler_for(method.kernel))
