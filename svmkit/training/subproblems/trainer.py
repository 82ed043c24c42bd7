"""The training of all subproblems, and the model that joins them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from svmkit.errors import Gone
from svmkit.runtime import interrupt
from svmkit.solver.solution import Status
from svmkit.training.checkpoint import Checkpoint, Slot
from svmkit.training.data import TrainingData
from svmkit.training.result import Fit, choices, describe_choices, make_untrained
from svmkit.training.settings import Method
from svmkit.training.subproblems.at_once import side_by_side, train_at_once
from svmkit.training.subproblems.by_engine import train_by_engine
from svmkit.training.subproblems.many import train_many
from svmkit.training.subproblems.one import Part, SubproblemTrainer, no_decision
from svmkit.training.subproblems.time_budget import TimeBudget, rests

Slots = Callable[[int], Slot]


class Trainer:
    """Trains all subproblems, for any C, and joins them into a model.

    Parameters
    ----------
    data : TrainingData
        The checked data.
    method : Method
        The solver and the settings.
    **options
        Of `SubproblemTrainer`: start, validation, metric, callbacks.

    Attributes
    ----------
    one : SubproblemTrainer
        Trains one subproblem at a time.
    gone : Gone or None
        Why no further subproblem could begin, if the data are gone.

    Examples
    --------
    >>> from svmkit.training import Trainer, TrainingData
    >>> from svmkit.training.settings import Settings, resolve
    >>> method = resolve(Settings(solver="smo", kernel="rbf"))
    >>> trainer = Trainer(TrainingData.prepare([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1], method), method)
    >>> len(trainer.run(C=1.0))
    1
    """

    def __init__(self, data: TrainingData, method: Method, **options: Any) -> None:
        self.one, self.data, self.method = SubproblemTrainer(data, method, **options), data, method
        self.gone: Gone | None = None

    def run(self, C: float, checkpoint: Checkpoint | None = None) -> list[Part | None]:
        """Train all subproblems for one C.

        Once the limit in seconds or a signal ends the training, no further subproblem begins, except for the first.
        Subproblems without progress come first. If time remains at the end, subproblems that ran out of their share
        continue.

        Parameters
        ----------
        C : float
            The weight of the summed losses, > 0.
        checkpoint : Checkpoint, default=None
            Where progress is saved, bound to the data.

        Returns
        -------
        list of Part or None
            The result of each subproblem; None for those that did not begin.
        """
        one, budget, n_problems = self.one, TimeBudget(self.one.stop), len(self.data.sizes)
        parts: list[Part | None] = [None] * n_problems
        one.parts = parts
        slots = checkpoint.slots(self.method.solver.name, n_problems) if checkpoint else None
        order = list(range(n_problems))
        if checkpoint is not None:
            order.sort(key=lambda k: checkpoint.progress(k) is not None)
        with interrupt.catching() as flag:
            try:
                if checkpoint is None and one.callbacks.passive and one.validation is None:
                    train_by_engine(one, order, C, budget, parts, flag)
                    order = [k for k in order if parts[k] is None]
                    if not self.data.division.outputs:  # whose losses may differ
                        train_many(one, order, C, budget, parts, flag)
                    order = [k for k in order if parts[k] is None]
                    # subproblems that start at the solution of a neighbour are trained one after the other
                    small = [k for k in order if one.is_complete(k)] if order and not self._has_neighbours else []
                    sampler = self.method.sampler  # of which the compiled code knows nothing; `solve` says so
                    if len(small) > 1 and self.data.has_class_pairs and (sampler is None or sampler.every):
                        train_at_once(one, small, C, budget, parts, flag)
                    if len(small) > 1:
                        side_by_side(one, [k for k in small if parts[k] is None], C, budget, parts, flag)
                    order = [k for k in order if parts[k] is None]
                    if self.one.interrupted or budget.left <= 0.0:
                        return parts
                for k, share in zip(order, self._shares(order), strict=True):
                    try:
                        part = self._time(budget, share, k, C, slots)
                    except Gone as gone:
                        if not any(parts):
                            raise
                        one.interrupted, self.gone = True, gone
                        break
                    parts[k] = part
                    self.one.note_end(part, flag)
                    if self.one.interrupted or budget.left <= 0.0:
                        break
                self.resume(parts, C, budget, flag, slots)
            finally:
                if checkpoint is not None:
                    checkpoint.flush()
        return parts

    @property
    def _has_neighbours(self) -> bool:
        """Whether a subproblem is known to have a solution close to that of another one."""
        division = self.data.division
        return bool(division.outputs) and any(division.neighbour(k) is not None for k in range(len(self.data.sizes)))

    def _shares(self, ks: list[int]) -> list[float]:
        """Return the share of each of these subproblems in the time that remains when it begins."""
        if not ks:
            return []
        sizes = self.data.sizes[ks]
        return (sizes / rests(sizes)).tolist()

    def resume(
        self, parts: list[Part | None], C: float, budget: TimeBudget, flag: interrupt.Flag, slots: Slots | None = None
    ) -> None:
        """Continue the subproblems that the limit in seconds ended, as long as time remains.

        Parameters
        ----------
        parts : list of Part or None
            The results so far, which are updated.
        C : float
            The weight of the summed losses.
        budget : TimeBudget
            The remaining seconds.
        flag : Flag
            Whether a signal asks to end.
        slots : callable, default=None
            Makes the saver of each subproblem.
        """
        waiting = [k for k, part in enumerate(parts) if part and part.progress]
        while waiting and not self.one.interrupted:
            before = budget.left
            for k, share in zip(waiting, self._shares(waiting), strict=True):
                part = parts[k]
                assert part is not None
                if budget.left * share <= part.around:
                    continue
                later = self._time(budget, share, k, C, slots, part)
                parts[k] = part.continue_with(later)
                self.one.note_end(later, flag)
                if self.one.interrupted:
                    return
            if budget.left == before:  # too little for any of them
                return
            waiting = [k for k in waiting if parts[k].progress]  # type: ignore[union-attr]

    def _time(
        self, budget: TimeBudget, share: float, k: int, C: float, slots: Slots | None, before: Part | None = None
    ) -> Part:
        """Train subproblem k, or continue it from `before`, with this share of the remaining budget."""
        one, began, measuring = self.one, time.perf_counter(), self.one.measuring
        around, start = (before.around, before.progress) if before else (0.0, None)
        seconds = budget.left * share - around
        slot = slots(k) if slots else None
        part = one.train(one.subproblem(k), C, seconds=seconds, budget=budget, start=start, slot=slot)
        budget.take(time.perf_counter() - began - (one.measuring - measuring))
        return part

    def fit(self, parts: Sequence[Part | None], C: float, began: float | None = None) -> Fit:
        """Join the results of all subproblems into a model, and describe the training.

        Parameters
        ----------
        parts : sequence of Part or None
            The results; None stands for a subproblem without a result.
        C : float
            The weight of the summed losses.
        began : float, default=None
            Start of the training, by `time.perf_counter`; None adds up the seconds of the subproblems and of joining.
        """
        if began is None:
            began = time.perf_counter() - sum(part.seconds for part in parts if part) - self.one.measuring
        data, method = self.data, self.method
        known = [part for part in parts if part is not None]
        chosen = choices(method.solver, self.one.tasks, data.division.many, self.one.solvers)
        about = {"solver": method.solver.name} | data.task.about(method, C)
        about |= {"choice": describe_choices(chosen)} if chosen else {}
        if data.task.is_supervised:
            about |= {"minimised": method.objective(data.kernel)}
            about |= _gather_settled([part and part.decision.settled for part in parts])
        about |= {"weighted": True} if data.has_weights else {}
        decisions, solutions = [part.decision for part in known], [part.solution for part in known]
        if len(known) < len(parts):
            lost, flaw = no_decision(known[0].decision), None if self.gone is None else str(self.gone)
            empty = make_untrained(Status.INTERRUPTED if self.one.interrupted else Status.TIME_LIMIT, flaw)
            decisions = [part.decision if part else lost for part in parts]
            solutions = [part.solution if part else empty for part in parts]
        model, support = data.model(decisions, about)
        seconds = time.perf_counter() - self.one.measuring - began
        return Fit(model, solutions, support, seconds, sum(part.kernel_values for part in known), chosen)


def _gather_settled(of_parts: list[dict[str, float] | None]) -> dict[str, Any]:
    """Return the values that nu has determined: one number, or for several subproblems a list, with None for none."""
    names = {name: None for settled in of_parts for name in settled or ()}
    values = {name: [settled.get(name) if settled else None for settled in of_parts] for name in names}
    return {name: of_each[0] if len(of_each) == 1 else of_each for name, of_each in values.items()}
