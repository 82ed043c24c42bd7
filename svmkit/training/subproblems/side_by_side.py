"""The training of many small class pairs at a time: each thread takes one after the other."""

from __future__ import annotations

import time
from typing import Protocol

import numpy as np

from svmkit.runtime.interrupt import Flag
from svmkit.runtime.threads import spread, thread_count, using
from svmkit.training.class_pair import ClassPair
from svmkit.training.data import TrainingData
from svmkit.training.subproblems.allowance import Allowance
from svmkit.training.subproblems.part import Part

WORK = 0.5  # nanoseconds of training a class pair, for each of its n^2 kernel values: to decide on threads


class OnePair(Protocol):
    """What is asked of a `svmkit.training.subproblems.trainer.Trainer`."""

    data: TrainingData
    interrupted: bool

    def pair(self, k: int) -> ClassPair: ...

    def train(self, pair: ClassPair, C: float, *, allowance: Allowance, seconds: float) -> Part: ...

    def heed(self, part: Part, flag: Flag) -> None: ...


def side_by_side(
    trainer: OnePair, ks: list[int], C: float, allowance: Allowance, parts: list[Part | None], flag: Flag
) -> None:
    """Train class pairs in several threads, those with most samples first.

    Parameters
    ----------
    trainer : OnePair
        Trains one class pair at a time.
    ks : list of int
        The class pairs, all of which keep their kernel rows (`Trainer.is_complete`).
    C : float
        The weight of the summed losses.
    allowance : Allowance
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
            left = allowance.left - (time.perf_counter() - began)
            if k != ks[0] and (trainer.interrupted or left <= 0.0):
                return
            seconds = min(left, allowance.left * share * float(sizes[k]))
            pair = made.pop(k) if k in made else trainer.pair(k)
            parts[k] = part = trainer.train(pair, C, allowance=allowance, seconds=seconds)
            del pair  # its kernel rows are freed before those of the next one are made
            trainer.heed(part, flag)

    made = {ks[0]: trainer.pair(ks[0])}  # before the others, so that what all share is made by all threads
    values = trainer.data.complete.prepare(made[ks[0]].gram)
    with using(min(thread_count(), trainer.data.complete.most_at_once(int(sizes[ks[0]])))):
        spread(train, len(ks), WORK * float(np.square(sizes[ks], dtype=np.float64).mean()))
    first = parts[ks[0]]
    assert first is not None
    parts[ks[0]] = first._replace(kernel_values=first.kernel_values + values)
    allowance.take(time.perf_counter() - began)
