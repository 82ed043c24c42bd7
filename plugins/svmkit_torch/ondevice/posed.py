"""Problems in their form on a device, and their certificates: hinges are certified there, all others by the problem."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from svmkit.kernels.engines import ALL, Engine
from svmkit.kernels.gram import Gram
from svmkit.problems.base import Problem
from svmkit.problems.certificate import Certificate
from svmkit.solver.smo.boxes import Box
from svmkit_torch.ondevice.answer import Answer
from svmkit_torch.ondevice.batch import Batch
from svmkit_torch.ondevice.certify import certify
from svmkit_torch.ondevice.forms import BIAS, Form, form_of, hinge_form
from svmkit_torch.values import DeviceRows


class RowsEngine(Engine):
    """Kernel values among some rows of an X that is already on a device, for their own Gram.

    Parameters
    ----------
    rows : DeviceRows
        The rows of X.
    idx : ndarray of int64, shape (n,)
        The selected rows.
    """

    name = "torch_rows"

    def __init__(self, rows: DeviceRows, idx: np.ndarray) -> None:
        self.kernel, self.X, self.n = rows.kernel, None, len(idx)
        self.rows, self.idx, self.panel = rows, idx, rows.panel
        self.at = torch.as_tensor(idx, device=rows.device)

    @property
    def error(self) -> float:
        return self.rows.error

    @property
    def largest(self) -> float:
        return self.rows.largest

    def take(self, idx: np.ndarray) -> Any:
        return self.rows.select(self.idx[idx])

    def diag(self) -> np.ndarray:
        return self.rows.diagonal(self.at).cpu().numpy()

    def _places(self, sel: np.ndarray) -> torch.Tensor | None:
        if sel.size:
            return self.at[torch.as_tensor(sel, device=self.at.device)]
        return None if self.n == self.rows.n else self.at

    def block(self, Z: Any, out: np.ndarray, sel: np.ndarray = ALL, rough: bool = False) -> np.ndarray:
        """Compute kernel values of some rows on the device and write them to `out`.

        Parameters
        ----------
        Z, out, sel, rough : object, ndarray, ndarray, bool
            As for `Engine.block`.
        """
        self.rows.write_block(self.rows.vectors(Z), out, self._places(sel), rough)
        return out

    def product(self, Z: Any, coef: np.ndarray, sel: np.ndarray = ALL, dtype: Any = np.float64) -> np.ndarray:
        """Return K(X[sel], Z) @ coef of some rows, computed on the device.

        Parameters
        ----------
        Z, coef, sel, dtype : object, ndarray, ndarray, object
            As for `Engine.product`.
        """
        return self.rows.host_product(self.rows.vectors(Z), coef, self._places(sel), np.dtype(dtype))


class Posed:
    """A `Box` in the form that is solved.

    Attributes
    ----------
    form : Form
        Its weights (G, n).
    rows : ndarray of int64, shape (G, n)
        The row of X of each weight; `BIAS` for the bias.
    problem : Problem or None
        The problem that is solved; None for a hinge, whose problem has no object.
    """

    def __init__(self, rows: DeviceRows, box: Box) -> None:
        self.problem: Problem | None = None
        if box.pose is None:
            self.form: Form = hinge_form(box.y, box.C)
            self.rows = box.rows[None]
            return
        self.gram = Gram(rows.kernel, None, engine=RowsEngine(rows, box.rows))
        self.problem = box.pose(self.gram)
        self.form = form_of(self.problem)
        self.rows = np.where(self.form.sample == BIAS, BIAS, box.rows[self.form.sample])

    @property
    def kind(self) -> tuple[int, bool]:
        """The common properties of a batch: the number of parts, and whether the problems are hinges."""
        return len(self.rows), self.problem is None

    def first_answer(self) -> Answer:
        """Return the first point, without a proven bound."""
        return Answer(self.form.make_point(self.form.start), Certificate(np.inf, None, None), 0, 0, None, self.problem)

    def weights_of(self, beta: torch.Tensor) -> np.ndarray:
        """Return the weights (G, n) from a row (q,) of a batch, which may be longer."""
        n = self.rows.shape[1]
        return beta.reshape(len(self.rows), -1)[:, :n].cpu().numpy()

    def certify(self, a: np.ndarray) -> tuple[np.ndarray, Certificate, np.ndarray]:
        """Return the point of weights a (G, n), its certificate from scratch, and y times the gradient there (G, n).

        If rounding keeps the weights from their required sum, as with bounds of 1e12, the point is a feasible one
        nearby.
        """
        form, problem = self.form, self.problem
        assert problem is not None and form.linear is not None and form.ridge is not None
        signed = form.sum_by_sample(a, problem.m)
        idx, point = np.flatnonzero(signed), form.make_point(a)
        h = np.append(self.gram.matvec(signed[idx], idx), 0.0)  # 0 for the bias at the end, which index -1 selects
        v = h[form.sample] + form.y * (form.ridge * a + form.linear)
        reason = problem.infeasible(point)
        if reason is not None and (near := problem.start(signed)) is not None:
            point, reason = near, problem.infeasible(near)
        if reason is not None:
            return point, Certificate(np.inf, None, None, flaw=reason), v
        return point, problem.certificate(point), v


def certify_all(
    some: list[Posed], products: Any, batch: Batch, idx: torch.Tensor, decisions: bool
) -> tuple[list[np.ndarray], list[Certificate], Any]:
    """Return the points of the problems of a batch, their certificates and decision values, as `certify` does.

    Parameters
    ----------
    some : list of Posed
        The problems, all of one kind.
    products, batch, idx, decisions : object, Batch, torch.Tensor, bool
        As for `certify`. Only hinges have decision values.
    """
    if some[0].problem is None:
        certificates, values = certify(products, batch, idx, decisions)
        return (
            [one.weights_of(beta)[0].copy() for one, beta in zip(some, batch.beta, strict=True)],
            certificates,
            values,
        )
    points, found = [], []
    v = torch.zeros_like(batch.v).view(len(some), batch.groups, -1)
    for b, one in enumerate(some):
        point, certificate, own = one.certify(one.weights_of(batch.beta[b]))
        v[b, :, : own.shape[1]] = torch.as_tensor(own, device=v.device)
        points.append(point)
        found.append(certificate)
    batch.v = v.view_as(batch.v)
    return points, found, [None] * len(some)


def pad(arrays: list[np.ndarray], value: float, device: torch.device) -> torch.Tensor:
    """Return arrays (G, n) of problems of one kind as a tensor (B, q) on a device, padded with `value`."""
    n = max(array.shape[1] for array in arrays)
    padded = np.full((len(arrays), len(arrays[0]), n), value, dtype=arrays[0].dtype)
    for b, array in enumerate(arrays):
        padded[b, :, : array.shape[1]] = array
    return torch.as_tensor(padded.reshape(len(arrays), -1), device=device)


def batch_of(problems: list[Posed], diag: torch.Tensor) -> Batch:
    """Return problems of one kind side by side, without a source, and with v as if K were 0.

    Parameters
    ----------
    problems : list of Posed
        The problems.
    diag : tensor of shape (B, q)
        k(x, x) of their points.
    """
    forms, device = [problem.form for problem in problems], diag.device
    y = pad([form.y for form in forms], 1.0, device)
    upper, beta = (pad([getattr(form, name) for form in forms], 0.0, device) for name in ("upper", "start"))
    balance = torch.as_tensor(np.stack([form.balance for form in forms]), device=device)
    sizes = torch.as_tensor(np.array([form.y.shape[1] for form in forms], dtype=np.int32), device=device)
    source: Any = None
    batch = Batch(source, y, upper, beta, -y, diag, balance, sizes)
    if forms[0].linear is not None:
        batch.linear, batch.ridge = (
            pad([getattr(form, name) for form in forms], 0.0, device) for name in ("linear", "ridge")
        )
        if not bool(batch.ridge.any()):
            batch.ridge = None
        own = batch.linear if batch.ridge is None else batch.linear + batch.ridge * beta
        batch.v = y * own
    return batch
