"""The training of one class pair after the other, and the model that they make together."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from svmkit.errors import Gone
from svmkit.runtime import interrupt
from svmkit.solver.selection.nu import WithNu
from svmkit.solver.solution import Status
from svmkit.training.checkpoint import Checkpoint, Slot
from svmkit.training.choice import choices, in_words
from svmkit.training.display import Display
from svmkit.training.result import Fit, untrained
from svmkit.training.subproblems.allowance import Allowance, rests
from svmkit.training.subproblems.at_once import at_once
from svmkit.training.subproblems.pair_trainer import PairTrainer, nothing
from svmkit.training.subproblems.part import Part
from svmkit.training.subproblems.side_by_side import side_by_side


class Trainer(PairTrainer):
    """Trains all class pairs, for any C, and joins them into a model.

    Its parameters and attributes are those of `PairTrainer`.
    """

    def run(self, C: float, checkpoint: Checkpoint | None = None) -> list[Part | None]:
        """Train all class pairs for one C.

        Once the limit in seconds or a signal ends the training, no further class pair begins, except for a first one.
        Class pairs without progress come first. If time is left at the end, the class pairs that their share had ended
        continue with it.

        Parameters
        ----------
        C : float
            The weight of the summed losses, > 0.
        checkpoint : Checkpoint, default=None
            Where progress is saved, bound to the data.

        Returns
        -------
        list of Part or None
            The result of each class pair; None for those that did not begin.
        """
        allowance, n_pairs = Allowance(self.stop), len(self.data.sizes)
        parts: list[Part | None] = [None] * n_pairs
        self._parts = parts
        slots = checkpoint.slots(self.solver.name, n_pairs) if checkpoint else None
        order = np.arange(n_pairs)
        if checkpoint is not None:
            order = np.array(sorted(order.tolist(), key=lambda k: checkpoint.progress(k) is not None))
        with interrupt.catching() as flag:
            try:
                if checkpoint is None and self._only_watched and self.validation is None:
                    small = [k for k in order.tolist() if self.is_complete(k)]
                    if self.data.has_class_pairs:
                        at_once(self, small, C, allowance, parts, flag)
                    side_by_side(self, [k for k in small if parts[k] is None], C, allowance, parts, flag)
                    order = np.array([k for k in order.tolist() if parts[k] is None], dtype=np.int64)
                    if self.interrupted or allowance.left <= 0.0:
                        return parts
                sizes = self.data.sizes[order]
                for k, share in zip(order.tolist(), (sizes / rests(sizes)).tolist(), strict=True):
                    try:
                        part = self._timed(allowance, share, k, C, slots)
                    except Gone as gone:
                        if not any(parts):
                            raise
                        self.interrupted, self.gone = True, gone
                        break
                    parts[k] = part
                    self.heed(part, flag)
                    if self.interrupted or allowance.left <= 0.0:
                        break
                self.resume(parts, C, allowance, flag, slots)
            finally:
                if checkpoint is not None:
                    checkpoint.flush()
        return parts

    @property
    def _only_watched(self) -> bool:
        """Whether nobody follows the solves, or only a display, for which they need not come one after the other."""
        return self.watch is None or isinstance(self.watch, Display)

    def heed(self, part: Part, flag: interrupt.Flag) -> None:
        """Note that a signal, or a callback during the solve of `part`, has asked to end."""
        self.interrupted |= bool(flag) or part.solution.status is Status.INTERRUPTED

    def resume(
        self,
        parts: list[Part | None],
        C: float,
        allowance: Allowance,
        flag: interrupt.Flag,
        slots: Callable[[int], Slot] | None = None,
    ) -> None:
        """Continue the class pairs that the limit in seconds ended, as long as time is left; updates `parts`."""
        waiting = [k for k, part in enumerate(parts) if part and part.progress]
        while waiting and not self.interrupted:
            sizes, before = self.data.sizes[waiting], allowance.left
            for k, share in zip(waiting, (sizes / rests(sizes)).tolist(), strict=True):
                part = parts[k]
                assert part is not None
                if allowance.left * share <= part.around:
                    continue
                later = self._timed(allowance, share, k, C, slots, part)
                parts[k] = part.continued(later)
                self.heed(later, flag)
                if self.interrupted:
                    return
            if allowance.left == before:  # too little for any of them
                return
            waiting = [k for k in waiting if parts[k].progress]  # type: ignore[union-attr]

    def _timed(
        self,
        allowance: Allowance,
        share: float,
        k: int,
        C: float,
        slots: Callable[[int], Slot] | None,
        before: Part | None = None,
    ) -> Part:
        """Train class pair k, or continue it from `before`, with this share of what is left of the allowance."""
        began, measuring = time.perf_counter(), self.measuring
        part = self.train(
            self.pair(k),
            C,
            seconds=allowance.left * share - (before.around if before else 0.0),
            allowance=allowance,
            start=before.progress if before else None,
            slot=slots(k) if slots else None,
        )
        allowance.take(time.perf_counter() - began - (self.measuring - measuring))
        return part

    def joined(self, parts: Sequence[Part | None], C: float) -> Fit:
        """Join the results of all class pairs, trained with this C, into a model; None stands for one without any."""
        began = time.perf_counter()
        known = [part for part in parts if part is not None]
        about, chosen = (
            {"solver": self.solver.name, "C": float(C)},
            choices(self.solver, self.tasks, self.data.multiclass),
        )
        if isinstance(self.solver, WithNu):
            about |= {"nu": float(self.solver.nu)}
        elif self.data.task == "regress":
            about |= {"epsilon": self.data.epsilon}
        about |= {"choice": in_words(chosen)} if chosen else {}
        lost = nothing(known[0].decision)
        flaw = None if self.gone is None else str(self.gone)
        empty = untrained(Status.INTERRUPTED if self.interrupted else Status.TIME_LIMIT, flaw)
        model, support = self.data.model([part.decision if part else lost for part in parts], about)
        seconds = sum(part.seconds for part in known) + time.perf_counter() - began
        solutions = [part.solution if part else empty for part in parts]
        return Fit(model, solutions, support, seconds, sum(part.kernel_values for part in known), chosen)
