"""The training of many small class pairs at a time: each thread takes one after the other."""

from __future__ import annotations

import time

import numpy as np

from svmkit.runtime.interrupt import Flag
from svmkit.runtime.threads import spread, thread_count, using
from svmkit.training.subproblems.one import SubproblemTrainer
from svmkit.training.subproblems.part import Part
from svmkit.training.subproblems.time_budget import TimeBudget

WORK = 0.5  # nanoseconds of training a class pair, for each of its n^2 kernel values: to decide on threads


def side_by_side(
    trainer: SubproblemTrainer, ks: list[int], C: float, budget: TimeBudget, parts: list[Part | None], flag: Flag
) -> None:
    """Train class pairs in several threads, those with most samples first.

    Parameters
    ----------
    trainer : SubproblemTrainer
        Trains one class pair at a time.
    ks : list of int
        The class pairs, all of which keep their kernel rows (`SubproblemTrainer.is_complete`).
    C : float
        The weight of the summed losses.
    budget : TimeBudget
        The seconds that are left. Each class pair gets the share of its size in the time of all threads; the first one
        begins whatever is left.
    parts : list of Part or None
        Where the results go; None stays where a class pair did not begin.
    flag : Flag
        Whether a signal asks to end.
    """
    if not ks:
        return
    sizes, began = trainer.data.sizes, time.perf_counter()
    ks = sorted(ks, key=lambda k: -sizes[k])
    share = thread_count() / float(sizes[ks].sum())  # of the time of all threads, for a sample

    def train(first: int, last: int) -> None:
        for k in ks[first:last]:
            left = budget.left - (time.perf_counter() - began)
            if k != ks[0] and (trainer.interrupted or left <= 0.0):
                return
            seconds = min(left, budget.left * share * float(sizes[k]))
            pair = made.pop(k) if k in made else trainer.subproblem(k)
            parts[k] = part = trainer.train(pair, C, budget=budget, seconds=seconds)
            del pair  # its kernel rows are freed before those of the next one are made
            trainer.note_end(part, flag)

    made = {ks[0]: trainer.subproblem(ks[0])}  # before the others, so that what all share is made by all threads
    values = trainer.data.grams.complete.prepare(made[ks[0]].gram)
    with using(min(thread_count(), trainer.data.grams.complete.most_at_once(int(sizes[ks[0]])))):
        spread(train, len(ks), WORK * float(np.square(sizes[ks], dtype=np.float64).mean()))
    first = parts[ks[0]]
    assert first is not None
    parts[ks[0]] = first._replace(kernel_values=first.kernel_values + values)
    budget.take(time.perf_counter() - began)
