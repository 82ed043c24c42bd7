"""The options of `svmkit train`, checked before any data is read, and the method that they define."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from svmkit import plugins
from svmkit.cli import options
from svmkit.cli.common import require_model_name
from svmkit.cli.option_table import TOL, Options, defaults
from svmkit.cli.options import class_weights, flag, key_values
from svmkit.data.prepare import imputing, scaling
from svmkit.errors import InputError
from svmkit.kernels.gram import parse_bytes
from svmkit.losses.by_name import LIBLINEAR_NAMES, canonical_name, is_likelihood, loss_names, make_loss
from svmkit.model.calibration import KINDS
from svmkit.problems.schemes import SCHEMES
from svmkit.runtime import files, threads
from svmkit.scoring.metric import require_metric
from svmkit.scoring.ranks import RankMetric
from svmkit.solver.stopping import stop_rules
from svmkit.tasks import TASKS, task_named
from svmkit.training.checkpoint import EVERY, Checkpoint
from svmkit.training.settings import RELEVANCES, Method, Settings, resolve

DTYPES = ("float32", "float64")
STREAM = "-"  # the DATA argument for standard input
_SETTINGS = {field.name for field in fields(Settings)}


class TrainOptions(Options):
    """The options of `svmkit train`, named as on the command line; an option that was not given is None.

    `svmkit tune` has most of these options, too; the others keep their defaults. Raises InputError: a value is invalid,
    or two options contradict each other.
    """

    tol: float
    C: float | None
    metric: str | None
    scale: str | None

    def __init__(self, **given: Any) -> None:
        super().__init__(**(defaults("train") | given))
        options.require_known(self, task=TASKS, dtype=DTYPES)
        _ = self.reading  # raises an error for invalid values
        if self.is_stream:
            options.refuse(self, options.NOT_OF_A_STREAM)
            if self.max_epochs not in (None, 1):
                raise InputError("a stream is looked at once: leave --max-epochs out")
        else:
            options.refuse(self, options.OF_A_STREAM)
        options.refuse(self, options.NOT_OF_A_SEARCH if self.tune else options.OF_A_SEARCH)
        if self.conformal is None:
            options.refuse(self, options.OF_SETS)
        if self.tol is None:  # not given: a stream refuses a tolerance, even the default one
            self.tol = TOL
        if self.test and self.test_size is not None:
            raise InputError("give --test or --test-size, not both")
        if self.test_size is not None and not 0 < self.test_size < 1:
            raise InputError(f"--test-size must be between 0 and 1, not {self.test_size}")
        self._require_files()
        if self.curve and not self.test and self.test_size is None:
            raise InputError("--curve needs --test or --test-size to measure on")
        if self.C is None:  # not given: a search may choose it
            self.C = 1.0
        if self.scale is None:  # likewise
            self.scale = "none"
        if not (self.C > 0 and math.isfinite(self.C)):
            raise InputError(f"-C must be a finite number > 0, not {self.C}")
        options.require_of_task(self, self.task)
        options.require_known(
            self,
            scale=("none", *scaling.KINDS),
            impute=imputing.KINDS,
            calibrate=KINDS,
            multiclass=tuple(SCHEMES),
            relevance=RELEVANCES,
        )
        if self.register is not None:
            if self.no_track:
                raise InputError("--register needs the tracker: leave --no-track out")
            require_model_name(self.register)
        if self.plot is not None and not self.tune:
            if self.relevance is None:
                raise InputError("--plot draws what --tune or --relevance learned found: give one of the two, too")
            from svmkit.cli.evaluating.report import require_drawable  # which needs matplotlib

            require_drawable(self.plot)
        if self.metric is not None and task_named(self.task).has_groups:
            self.metric = RankMetric.from_words(self.metric).name
        elif self.metric is not None:
            self.metric = require_metric(self.metric, probabilities=self._has_probabilities)
        parse_bytes(self.memory)
        with threads.using(self.threads):
            pass
        for path in filter(None, (self.out, self.checkpoint)):
            files.require_writable(path)

    def _require_files(self) -> None:
        """Refuse options that lack the file that they are about, and one file for the model and its checkpoint."""
        if self.resume and not (self.checkpoint or self.out):
            raise InputError("--resume needs --checkpoint FILE, or --out MODEL to start from")
        if self.every is not None and not self.checkpoint:
            raise InputError("--every needs --checkpoint FILE")
        if self.force and not self.out:
            raise InputError("--force needs --out FILE, which it replaces")
        if self.checkpoint and self.out and Path(self.checkpoint).resolve() == Path(self.out).resolve():
            raise InputError(f"--checkpoint and --out are the same file, {self.out}: give two files")

    @property
    def _has_probabilities(self) -> bool:
        """Whether the model will have probabilities."""
        given = self.loss or key_values(self.option, "-o").get("loss")
        return self.calibrate is not None or is_likelihood(given) or SCHEMES[self.multiclass or "ovo"].by_probability

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

    def saver(self) -> Checkpoint | None:
        """Return the checkpoint; None without --checkpoint."""
        if not self.checkpoint:
            return None
        every = EVERY if self.every is None else self.every
        return Checkpoint(self.checkpoint, resume=self.resume, every=every)

    def settings(self, task: str | None = None) -> Settings:
        """Return the settings of the training for data of this task."""
        values = {k: v for k, v in key_values(self.option, "-o").items() if not k.startswith("kernel.")}
        supervised = task_named(task).is_supervised
        if self.loss is not None and supervised:
            values = self._solver_options(values, task)
        budgets = {key: getattr(self, key) for key in ("max_iter", "max_epochs", "time_limit", "max_support")}
        if self.stop is None and not 0 < self.tol < float("inf"):
            raise InputError(f"--tol must be a finite number > 0, not {self.tol}")
        for name, limit in budgets.items():
            if limit is not None and not limit > 0:
                raise InputError(f"{flag(name)} must be > 0, not {limit}")
        given = {name: value for name, value in vars(self).items() if name in _SETTINGS and value is not None}
        return Settings(**given | {
            "solver_options": values,
            "loss": None if supervised else self.loss,
            "kernel": None if self.kernel is None else plugins.build("kernel", self.kernel, self.kernel_params),
            "class_weight": class_weights(self.class_weight),
            "calibration": self.calibrate,
            "stop": stop_rules(self.stop, self.tol, **budgets),
            "n_threads": self.threads,
        })  # fmt: skip

    def _solver_options(self, values: dict[str, str], task: str | None) -> dict[str, Any]:
        """Return the options of the solver, including the loss; raise InputError if they are incompatible.

        If the task is unknown, None, it is that of the loss. The values are for both; names of options of the loss may
        begin with "loss.".
        """
        kind, names, loss = plugins.load("solver", self.solver), plugins.names("loss"), self.loss
        if "loss" in values:
            raise InputError("give --loss or -o loss, not both")
        if canonical_name(loss, "regress") not in names and loss not in names:
            raise InputError(f"--loss {loss!r} is not known; there are: {', '.join(loss_names())}")
        known = plugins.options(kind)
        if task is None:
            task = plugins.load("loss", loss if loss in names else canonical_name(loss, "regress")).task
        own: dict[str, Any] = {key: value for key, value in values.items() if key in known}
        of_loss = {key.removeprefix("loss."): value for key, value in values.items() if key not in known}
        if name := next((name for name in (loss, canonical_name(loss, task)) if name in names), None):
            for key in own.keys() & plugins.options(plugins.load("loss", name)).keys() - of_loss.keys():
                raise InputError(
                    f"-o {key} is an option of solver {self.solver} and of loss {name}: give the loss's as loss.{key}"
                )
        made = make_loss(loss, task, of_loss, epsilon=self.epsilon)
        if "loss" in known:
            short = LIBLINEAR_NAMES.get(made.name, made.name)
            own["loss"] = short if short in kind.losses else made
        elif made.name not in kind.loss_names(task):
            kind.loss_option(made.name)  # which raises
        return own

    @property
    def kernel_params(self) -> dict[str, Any]:
        """The parameters of the kernel, from options of their own and from -o kernel.KEY=VALUE."""
        own = {key: getattr(self, key) for key in ("gamma", "degree", "coef0") if getattr(self, key) is not None}
        named = {key: value for key, value in key_values(self.option, "-o").items() if key.startswith("kernel.")}
        return own | {key.removeprefix("kernel."): value for key, value in named.items()}

    def method(self, task: str | None = None) -> Method:
        """Return the solver, the kernel and all other objects that the options name, for data of this task.

        Raises InputError: a name or value is unknown, or the solver does not support the kernel.
        """
        task = task or self.task
        method = resolve(self.settings(task), task)
        if self.kernel is None and self.kernel_params:
            kernel = plugins.build("kernel", method.kernel.name, self.kernel_params)
            method = resolve(replace(method.settings, kernel=kernel), method.task)
        return replace(method, sampler=method.sampler or method.solver.sampler_for(method.kernel))
