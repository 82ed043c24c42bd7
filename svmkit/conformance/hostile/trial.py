"""One trial: a solver on a hostile case, with a limit of a second, and the outcome according to the judge."""

from __future__ import annotations

import tempfile
import time
import traceback
import warnings
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from svmkit import plugins
from svmkit.conformance.hostile.cases import CASES, Case, Data, clouds
from svmkit.conformance.judging.claims import Verdict
from svmkit.conformance.judging.definitions import Values
from svmkit.conformance.judging.judge import judge_fit, judge_one_class, judge_regression
from svmkit.conformance.judging.kinds import (
    false_probabilities,
    judge_all_classes,
    judge_multinomial,
    judge_nu,
    judge_outputs,
)
from svmkit.conformance.judging.ranking import judge_ranking
from svmkit.errors import SvmkitError
from svmkit.kernels.functions import Kernel, Linear, Precomputed
from svmkit.model.exchange import liblinear, libsvm
from svmkit.model.exchange.reading import read_text_model
from svmkit.model.model import SVMModel
from svmkit.problems.base import FREE
from svmkit.problems.nu_dual import NuQP
from svmkit.problems.risks.penalty import L1_RATIO, make_penalty
from svmkit.problems.schemes import JOINT
from svmkit.problems.simplex import SimplexQP
from svmkit.solver.base import Solver
from svmkit.solver.requirements import Requires
from svmkit.solver.selection.with_penalty import with_penalty
from svmkit.solver.solution import Status
from svmkit.solver.stopping import Gap, Iterations, Seconds
from svmkit.tasks import task_named
from svmkit.training.train import fit

TOL, LIMIT, GRACE = 1e-3, 1.0, 1.0  # seconds: the limit, and how much later a solve may end
RANKED = ["squared_hinge", "hinge"]  # losses for ranking pairs
OUTCOMES = ("converged", "honest", "refused", "wrong", "traceback", "over")


@dataclass
class Trial:
    """The outcome of one solver with one loss on one case."""

    case: str
    solver: str
    loss: str
    # "converged" and true; "honest": not converged, and its claims are true; "refused" with one line; "wrong": a claim
    # is false; "traceback": another exception, or the process died; "over" the limit by more than a second
    outcome: str = "traceback"
    seconds: float = 0.0  # of training
    status: str | None = None
    primal: float | None = None
    dual: float | None = None
    gap: float | None = None
    true: list[list[float]] = field(default_factory=list)  # [P, D, gap] of each class pair according to the judge
    objective: str = ""  # the objective, for comparing bounds with the models of other solvers
    said: str = ""  # the false claims or the message of the exception


def trials() -> list[tuple[str, str, str]]:
    """Return (case, solver, loss) of all trials, case by case, for the solvers that work here."""
    names = plugins.solvers_where(lambda solver: True)
    return [(case.name, name, loss) for case in CASES.values() for name in names for loss in _losses(case, name)]


def _losses(case: Case, name: str) -> list[str]:
    """The losses with which a solver is run on a case; none if the case is not meant for it."""
    solver, options = plugins.load("solver", name), dict(case.options)
    kernel, is_linear = _kernel(case, solver), Requires.LINEAR_KERNEL in solver.requires
    if case.task == "one-class":
        return ["squared_hinge"] if solver.problem is SimplexQP else []
    if case.task == "rank":
        if not any(problem.task == "rank" for problem in solver.further):
            return []
        return RANKED if case.every_loss else RANKED[:1]
    needed = {"group": "groups", None: None}.get(options.get("penalty"), "penalty")
    if needed is not None and needed not in plugins.options(solver):
        return []
    meant = (
        (case.linear or not is_linear)
        and (is_linear or options.get("multiclass") not in JOINT)
        and ("nu" not in options or (NuQP in solver.further and name != "auto"))  # which is one of these
        and (case.task != "regress" or solver.regression_for(kernel) is not None)
        and (solver.certified or not (case.text or {"multiclass", "calibration"} & set(options)))  # not of the solver
    )
    if not meant:
        return []
    if "loss" in options:
        return [options["loss"].name] if options["loss"].name in solver.loss_names("regress") else []
    if options.get("multiclass") == "multinomial":
        return ["logistic"] if "logistic" in solver.loss_names("classify") else []
    names = solver.loss_names("regress" if case.task == "regress" else "classify")
    return names if case.every_loss else names[:1]


def _kernel(case: Case, solver: Solver | type[Solver]) -> Kernel:
    if case.task == "rank":
        return case.kernel
    return Linear() if Requires.LINEAR_KERNEL in solver.requires else case.kernel


def run_named(case: str, solver: str, loss: str, limit: float = LIMIT) -> Trial:
    """Run a registered solver with one of its losses on a case, as `run` does.

    Parameters
    ----------
    case, solver, loss : str
        The names of the case, the solver and the loss.
    limit : float, default=1.0
        Seconds that the solver may take.
    """
    options = {"loss": loss} if "loss" in plugins.options(plugins.load("solver", solver)) else {}
    return replace(run(case, plugins.build("solver", solver, options), limit), loss=loss)


def run(name: str, solver: Solver, limit: float = LIMIT) -> Trial:
    """Run a solver on a case in this process for at most `limit` seconds, and judge it; compilation is not counted."""
    trial, case, data = Trial(name, solver.name, ""), CASES[name], _data(name)
    kernel = _kernel(case, solver)
    judge = _judge_one_class if case.task == "one-class" else _judge_fit
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _warm(solver, kernel, data, case)
        began = time.perf_counter()
        try:
            verdicts = judge(trial, solver, kernel, data, limit)
        except Exception as error:
            trial.seconds = trial.seconds or time.perf_counter() - began
            if isinstance(error, SvmkitError):
                trial.outcome, trial.said = "traceback" if "\n" in str(error) else "refused", str(error)
            else:
                *_, (frame, line) = traceback.walk_tb(error.__traceback__)
                place = f"{frame.f_code.co_filename.rpartition('/')[2]}:{line}"
                trial.said = f"{type(error).__name__}: {error} [{place}]"
        else:
            trial.said = "; ".join(sentence for verdict in verdicts for sentence in verdict.false)
            trial.true = [[verdict.primal, verdict.dual, verdict.gap] for verdict in verdicts]
            converged = trial.status == Status.CONVERGED and trial.gap is not None
            trial.outcome = "wrong" if trial.said else "converged" if converged else "honest"
    if trial.outcome not in ("wrong", "traceback") and trial.seconds > limit + GRACE:
        trial.outcome, trial.said = "over", f"{trial.seconds:.2f} seconds; {trial.said}"
    return trial


@lru_cache(maxsize=1)
def _data(case: str) -> Data:
    return CASES[case].make()


@lru_cache(maxsize=2)
def _values(case: str, kernel: Kernel) -> Values:
    return Values(kernel.name, kernel.params, _data(case).X)


def _judge_fit(trial: Trial, solver: Solver, kernel: Kernel, data: Data, limit: float) -> list[Verdict]:
    case, (X, y, weights) = CASES[trial.case], data
    options, task = dict(case.options), case.task
    if "penalty" in options:
        solver = with_penalty(solver, make_penalty(options.pop("penalty"), options.pop("l1_ratio", L1_RATIO)))
    given: dict[str, Any] = {"C": case.C, "sample_weight": weights}
    classes = {"class_weight": case.class_weight} if task == "classify" else {}
    stop, began = Gap(TOL) | Seconds(limit), time.perf_counter()
    done = fit(X, y, task=task, solver=solver, kernel=kernel, stop=stop, **given, **classes, **options)
    trial.seconds = time.perf_counter() - began
    trial.status, trial.primal, trial.dual, trial.gap = done.status.value, done.objective, done.dual_objective, done.gap
    trial.objective = f"{solver.formulation(kernel, task_named(task).loss_task)}, {kernel.name}"
    given |= {"tol": TOL}
    if task == "rank":
        return [judge_ranking(done, X, *y.T, C=case.C, loss=solver.loss_for(kernel, task).name, tol=TOL)]
    if done.model.outputs:
        trial.objective += ", each output"
        return judge_outputs(done, X, y, solver=solver, C=case.C, epsilon=0.1, tol=TOL)
    if "nu" in options:
        trial.objective += f", nu by {trial.solver}"  # each determines another cost or tube
        return judge_nu(done, X, y, options["nu"], solver=solver, **given)
    if task == "regress":
        verdict = judge_regression(done, X, y, solver=solver, epsilon=0.1, **given)
        return [verdict] if verdict else []
    if options.get("multiclass") == "crammer_singer":
        return judge_all_classes(done, X, y, **given, **classes)
    if options.get("multiclass") == "multinomial":
        bias = None if getattr(solver, "bias", 1.0) == FREE else 1.0
        trial.objective = f"multinomial, bias {bias}"
        return judge_multinomial(done, X, y, bias=bias, **given, **classes)
    false = list[str]()
    if done.model.calibration is not None:
        false = false_probabilities(done, X)
        done = replace(done, model=replace(done.model, calibration=None))
    if case.text:
        done = replace(done, model=_through_text(done.model))
    given |= {"multiclass": options.get("multiclass", "ovo"), "values": _values(trial.case, done.model.kernel)}
    verdicts = judge_fit(done, X, y, solver=solver, **given, **classes)
    verdicts[0].false.extend(false)
    return verdicts


def _through_text(model: SVMModel) -> SVMModel:
    """Return the model read back from a text model of LIBSVM, or of LIBLINEAR if it consists of column weights."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        (liblinear if model.kernel.name == "linear" else libsvm).write(model, path)
        read = read_text_model(path, model.n_features)
    if not np.issubdtype(model.classes.dtype, np.number):  # text models number labels that are not numbers
        read = replace(read, classes=model.classes)
    return read


def _judge_one_class(trial: Trial, solver: Solver, kernel: Kernel, data: Data, limit: float) -> list[Verdict]:
    began = time.perf_counter()
    done = _machine(solver, kernel, limit).fit(data.X, sample_weight=data.sample_weight)
    trial.seconds = time.perf_counter() - began
    claim = done.certificate_
    trial.status, trial.primal, trial.dual, trial.gap = done.status_.value, claim.primal, claim.dual, claim.gap
    trial.objective = f"one-class, {kernel.name}"
    return [judge_one_class(done, data.X, data.sample_weight, TOL)]


def _machine(solver: Solver, kernel: Kernel, limit: float = LIMIT) -> Any:
    from svmkit.estimators import SVMOneClass

    return SVMOneClass(solver, nu=0.1, kernel=kernel, tol=TOL, time_limit=limit)


_warmed: set[tuple] = set()


def _warm(solver: Solver, kernel: Kernel, data: Data, case: Case) -> None:
    """Compile the loops that a solver needs for this kernel, storage and type, on harmless data."""
    sparse, single = sp.issparse(data.X), getattr(data.X, "dtype", None) == np.float32
    flags = {} if sparse else getattr(data.X, "flags", {})
    columns, fixed = flags and flags["F_CONTIGUOUS"], flags and not flags["WRITEABLE"]
    task, options = case.task, dict(case.options)
    key = solver, type(kernel), task, case.options, sparse, single, bool(columns), bool(fixed)
    if key in _warmed:
        return
    _warmed.add(key)
    X, y, _ = clouds(40)
    y = X[:, 0] if task in ("regress", "rank") else np.arange(40) % 3 if "multiclass" in options else y
    options.pop("calibration", None)  # only solves are compiled
    X = np.exp(-np.square(X[:, None] - X[None]).sum(axis=2)) if isinstance(kernel, Precomputed) else X
    X = X.astype(np.float32 if single else np.float64)
    given: Any = sp.csr_array(X) if sparse else np.asfortranarray(X) if columns else X
    if fixed:
        given.flags.writeable = False
    try:
        if task == "one-class":
            _machine(solver, kernel).fit(given).score_samples(given)
        else:
            stop = Gap(TOL) | Iterations(200)
            fit(given, y, task=task, solver=solver, kernel=kernel, stop=stop, **options).model.predict(given)
    except Exception:  # a solver that refuses, or fails, does so again on the case
        return
