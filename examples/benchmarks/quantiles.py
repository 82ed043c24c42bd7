"""Several quantiles over a path of C on one set of kernel rows: ours beside TorchKM's `cvkqr`, and a referee for both.

    python examples/benchmarks/quantiles.py --rows 500 2000 --taus 0.1 0.5 0.9 --costs 10
    python examples/benchmarks/quantiles.py --no-peer

Both minimise P = 1/2 |f|^2 + C sum of the pinball losses, with a free intercept: TorchKM's lambda is 1 / (C rows). Its
cross-validation is left out, so that it fits the path alone, at the options of its documentation (eps 1e-5, gamma
1e-8). P of its answers is computed here, and `svmkit.certify` says how far from the optimum they are, by a bound of its
own. Seconds are those of the processor, of all threads, the kernel matrix included, what is compiled excluded. The
path of a quantile of the peer ends with the first C by which it has taken --limit seconds.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import time
from contextlib import redirect_stdout, suppress
from io import StringIO
from typing import Any, NamedTuple

import numpy as np

from svmkit import c_path, certify
from svmkit.kernels import RBF
from svmkit.losses import Quantile
from svmkit.solver.stopping import Gap

GAMMA = 0.05
LEAST, MOST = 1e-2, 1e2  # the ends of the path of C


class Side(NamedTuple):
    """What one side has reached: processor seconds, and P and the gap of each quantile (rows) and C (columns)."""

    seconds: float
    primal: np.ndarray
    gaps: np.ndarray


def draw(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of ten columns, and targets whose spread depends on the second column."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10))
    spread = 0.2 + 0.3 * np.abs(X[:, 1])
    return X, np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 2] + spread * rng.normal(size=n)


def pinball(residual: np.ndarray, tau: float) -> float:
    """Return the sum of the pinball losses."""
    return float(np.maximum(tau * residual, (tau - 1.0) * residual).sum())


def ours(X: np.ndarray, y: np.ndarray, taus: list[float], costs: np.ndarray) -> Side:
    """Train all quantiles as outputs of one model, for every C."""
    began = time.process_time()
    given: dict[str, Any] = {"task": "regress", "kernel": RBF(GAMMA), "stop": Gap(1e-3)}
    fits = c_path(X, y, costs.tolist(), loss=Quantile(tau=tuple(taus)), **given)
    seconds = time.process_time() - began
    primal = np.array([[s.certificate.primal for s in fit.solutions] for fit in fits]).T
    return Side(seconds, primal, np.array([[s.certificate.gap for s in fit.solutions] for fit in fits]).T)


def fit_peer(K: np.ndarray, y: np.ndarray, tau: float, lams: np.ndarray, limit: float, answers: Any) -> None:
    """Fit TorchKM's path of one quantile in this process; send seconds, intercept and coefficients of each lambda."""
    import torch  # here: only the peer needs it
    from torchkm.cvkqr import cvkqr

    torch.set_num_threads(1)

    class Path(cvkqr):
        """The path without folds, whose step for a lambda ends where theirs would begin."""

        def _cv_batched_lambda(self, *, alpvec: Any, **_: Any) -> float:
            spent = time.process_time() - began
            answers.send((spent, alpvec.numpy().copy()))
            if spent > limit:
                raise TimeoutError
            return 0.0

    began = time.process_time()
    given = {"eps": 1e-5, "maxit": 100_000, "gamma": 1e-8, "is_exact": 0, "device": "cpu"}
    with suppress(TimeoutError), redirect_stdout(StringIO()):
        model = Path(torch.as_tensor(K), torch.as_tensor(y), len(lams), torch.as_tensor(lams), tau, nfolds=2, **given)
        model.fit()
    answers.send(None)


def path_of_peer(*args: Any, limit: float) -> list[tuple[float, np.ndarray]]:
    """Return what `fit_peer` sends until it ends or has passed its limit three times over."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=fit_peer, args=(*args, limit, there))
    process.start()
    there.close()
    found, end = [], time.monotonic() + 3.0 * limit
    with suppress(EOFError):
        while here.poll(max(0.0, end - time.monotonic())) and (answer := here.recv()) is not None:
            found.append(answer)
    process.kill()
    process.join()
    return found


def peer(X: np.ndarray, y: np.ndarray, taus: list[float], costs: np.ndarray, limit: float) -> Side:
    """Fit the path of each quantile in a process of its own, and judge the answers; nan where there is none."""
    began = time.process_time()
    K = np.exp(-GAMMA * np.square(X[:, None] - X[None]).sum(axis=2))
    seconds = time.process_time() - began
    primal, gaps = np.full((2, len(taus), len(costs)), math.nan)
    for t, tau in enumerate(taus):
        found = path_of_peer(K, y, tau, 1.0 / (costs * len(y)), limit=limit)
        seconds += found[-1][0] if found else limit
        for c, (_, point) in enumerate(found):
            C, intercept, alpha = float(costs[c]), point[0], point[1:]
            h = K @ alpha
            primal[t, c] = 0.5 * float(alpha @ h) + C * pinball(y - h - intercept, tau)
            verdict = certify((RBF(GAMMA), X, alpha, intercept), X, y, C=C, loss=Quantile(tau=tau), tol=1e-4)
            gaps[t, c] = math.nan if verdict.gap is None else verdict.gap
    return Side(seconds, primal, gaps)


def lines(n: int, taus: list[float], own: Side, other: Side | None) -> list[str]:
    """Return a row of the table for each quantile, and one of all."""
    rows = []
    for t, tau in enumerate(taus):
        cells = [f"{n:,}", f"{tau:g}", "", f"{own.primal[t].sum():.6g}", f"{own.gaps[t].max():.1e}"]
        if other is not None:
            done, gaps = np.isfinite(other.primal[t]), other.gaps[t]
            excess = (other.primal[t] / own.primal[t] - 1.0)[done]
            cells += ["", f"{done.sum()} of {done.size}"]
            cells += [
                f"{np.median(gaps[done]):.1e}, {gaps[done].max():.1e}",
                f"{excess.min():+.1e} to {excess.max():+.1e}",
            ]
        rows.append(cells)
    rows.append([f"{n:,}", "all", f"{own.seconds:.2f}", f"{own.primal.sum():.6g}", f"{own.gaps.max():.1e}"])
    if other is not None:
        done = np.isfinite(other.primal)
        gaps = f"{np.nanmedian(other.gaps):.1e}, {np.nanmax(other.gaps):.1e}"
        rows[-1] += [f"{other.seconds:.1f}", f"{done.sum()} of {done.size}", gaps, ""]
    return [f"| {' | '.join(cells)} |" for cells in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[500, 2000])
    parser.add_argument("--taus", type=float, nargs="+", default=[0.1, 0.5, 0.9])
    parser.add_argument("--costs", type=int, default=10, help=f"values of C from {LEAST:g} to {MOST:g}")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for the path of a quantile of the peer")
    parser.add_argument("--no-peer", action="store_true", help="leave TorchKM out")
    args = parser.parse_args()

    costs = np.logspace(math.log10(LEAST), math.log10(MOST), args.costs)
    ours(*draw(64), args.taus, costs)  # compiles
    head = ["rows", "tau", "CPU s", "sum of P", "largest gap"]
    if not args.no_peer:
        head += ["TorchKM: CPU s", "values of C", "gap: median, largest", "P above ours"]
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for n in args.rows:
        X, y = draw(n)
        own = ours(X, y, args.taus, costs)
        other = None if args.no_peer else peer(X, y, args.taus, costs, args.limit)
        print("\n".join(lines(n, args.taus, own, other)), flush=True)


if __name__ == "__main__":
    main()
