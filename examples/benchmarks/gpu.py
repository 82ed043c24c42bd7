"""Time training on a device: MNIST, the class pairs of letter, large sets, and a search over C; all of it certified.

    python examples/benchmarks/gpu.py --device cuda --data FOLDER --out gpu.json
    python examples/benchmarks/gpu.py --device cpu --small    # the same cells with few rows

FOLDER ($SVMKIT_DATA by default) has mnist and letter.scale in svmlight form; they are kept as .npy in --cache. A cell
has a limit in seconds and says which gap it has reached by then. Seconds are those of a second run in the same process,
with kernels compiled; the first one is given beside it, where the cell is short. "judge" is the largest gap by the
float64 certificate of the CPU for the same points; for deformed digits that of numpy from the decision values of the
device, of which some are computed anew.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import torch
from search import bandwidth, mixture
from svmkit_torch.ondevice import code, minimise, products
from svmkit_torch.ondevice.answer import Answer, Profile
from svmkit_torch.ondevice.many import solve_many
from svmkit_torch.values import DeviceRows

from svmkit import Gram, fit
from svmkit.data import load
from svmkit.kernels import RBF
from svmkit.problems import BoxQP
from svmkit.solver.smo.boxes import Box

GAP = 1e-3
TARGETS = {"mnist": "3 s", "letter": "0.5 s", "large": "8 GB", "search": "half of TorchKM", "deformed": "gap 1e-3"}


def cached(name: str, args: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return a set as dense float32 rows and labels, from the cache where it has been read before."""
    places = [Path(args.cache) / f"{name}.{part}.npy" for part in ("X", "y")]
    if not all(place.exists() for place in places):
        path = next(path for path in (Path(args.data) / f"{name}{end}" for end in (".bz2", "", ".gz")) if path.exists())
        data = load(path)
        X = data.X.toarray() if hasattr(data.X, "toarray") else data.X
        Path(args.cache).mkdir(parents=True, exist_ok=True)
        for place, values in zip(places, (X.astype(np.float32), np.asarray(data.y, dtype=np.float64)), strict=True):
            np.save(place, values)
    X, y = (np.load(place) for place in places)
    return X, y


def digits(args: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return MNIST's pixels in [0, 1], and 1.0 for even digits, else -1.0."""
    X, y = cached("mnist", args)
    n = 2_000 if args.small else len(X)
    return X[:n] / np.float32(255.0), np.where(y[:n] % 2 == 0, 1.0, -1.0)


def whole(y: np.ndarray, C: float) -> Box:
    """Return the problem of all rows."""
    return Box(np.arange(len(y)), y, np.full(len(y), C))


def largest_gap(answers: list[Answer]) -> float:
    return max(math.inf if a.certificate.gap is None else a.certificate.gap for a in answers)


def judged(kernel: Any, X: np.ndarray, problems: list[Box], answers: list[Answer], some: int = 1) -> float:
    """Return the largest gap that the CPU certifies, of every `some`-th problem."""
    gaps = []
    for problem, answer in list(zip(problems, answers, strict=True))[::some]:
        box = BoxQP(Gram(kernel, X[problem.rows]), problem.y, problem.C)
        reason = box.infeasible(answer.beta)
        if reason:
            raise ValueError(reason)
        gap = box.certificate(answer.beta).gap
        gaps.append(math.inf if gap is None else gap)
    return max(gaps)


def judged_by_rows(X: torch.Tensor, gamma: float, problem: Box, answer: Answer, some: int = 2_000) -> dict[str, float]:
    """Return the gap that numpy computes from the decision values of the device, and the largest error of `some` drawn
    ones, which numpy computes from the rows in float64: all of them would take hours."""
    rng, beta = np.random.default_rng(0), answer.beta
    signed, support, at = beta * problem.y, np.flatnonzero(beta), rng.permutation(len(beta))[:some]
    Z, own = X[at].cpu().numpy().astype(np.float64), np.zeros(len(at))
    for lo in range(0, len(support), 10_000):
        part = support[lo : lo + 10_000]
        V = X[part].cpu().numpy().astype(np.float64)
        squares = (Z * Z).sum(1)[:, None] + (V * V).sum(1) - 2.0 * Z @ V.T
        own += np.exp(-gamma * squares) @ signed[part]
    h, bias = answer.decision, answer.certificate.bias
    assert h is not None and bias is not None
    square = signed @ h
    primal = 0.5 * square + problem.C @ np.maximum(0.0, 1.0 - problem.y * (h + bias))
    dual = beta.sum() - 0.5 * square
    return {"judge": (primal - dual) / abs(dual), "error_of_decisions": float(np.abs(own - h[at]).max())}


def solved(
    rows: Any, problems: list[Box], args: Any, limit: float, memory: int | None = None, decisions: bool = False
) -> Any:
    """Solve, and return the answers with the facts about the run.

    Parameters
    ----------
    rows : callable
        Returns the DeviceRows, which is a part of what is timed.
    problems, args, limit, memory, decisions
        The problems, the arguments, and as for `solve_many`.
    """
    profile = Profile(torch.device(args.device), exact=True)
    if args.device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        torch.cuda.synchronize()
    began = time.perf_counter()
    with profile.timing("rows"):
        made = rows()
    answers = solve_many(made, problems, GAP, memory=memory, seconds=limit, profile=profile, decisions=decisions)
    seconds = time.perf_counter() - began
    facts = {
        "seconds": seconds,
        "gap": largest_gap(answers),
        "certified": sum(a.certificate.gap is not None and a.certificate.gap <= GAP for a in answers),
        "problems": len(answers),
        "support": int(np.mean([np.count_nonzero(a.beta) for a in answers])),
        "steps": int(sum(a.steps for a in answers)),
        "spectral": int(sum(a.spectral for a in answers)),
        "parts": {name: round(value, 3) for name, value in profile.seconds.items()},
        "counts": profile.counts,
        "rounds": [f"{gap:.1e} {size}" for gap, size in profile.rounds[1:]],
        "peak_gb": torch.cuda.max_memory_allocated() / 1e9 if args.device == "cuda" else None,
    }
    return answers, facts


def mnist(args: Any) -> dict[str, Any]:
    """Even against odd digits, C 10, gamma 0.25."""
    X, y = digits(args)
    kernel, problems = RBF(0.25), [whole(y, 10.0)]
    first = solved(lambda: DeviceRows(kernel, X, args.device), problems, args, args.limit)[1]["seconds"]
    answers, facts = solved(lambda: DeviceRows(kernel, X, args.device), problems, args, args.limit)
    began = time.perf_counter()
    judge = judged(kernel, X, problems, answers) if args.judge else math.nan
    return facts | {"first": first, "judge": judge, "judge_s": time.perf_counter() - began}


def letter(args: Any) -> dict[str, Any]:
    """All 325 class pairs of letter, C 10, gamma 1."""
    X, y = cached("letter.scale", args)
    if args.small:
        X, y = X[:3_000], y[:3_000]
    classes = np.unique(y)[: 4 if args.small else 26]
    kernel, problems = RBF(1.0), []
    for a, one in enumerate(classes):
        for other in classes[a + 1 :]:
            at = np.flatnonzero((y == one) | (y == other))
            problems.append(Box(at, np.where(y[at] == one, 1.0, -1.0), np.full(len(at), 10.0)))
    first = solved(lambda: DeviceRows(kernel, X, args.device), problems, args, args.limit)[1]["seconds"]
    answers, facts = solved(lambda: DeviceRows(kernel, X, args.device), problems, args, args.limit)
    judge = judged(kernel, X, problems, answers, 1 if args.small else 5) if args.judge else math.nan
    return facts | {"first": first, "judge": judge}


def large(args: Any) -> dict[str, Any]:
    """3,000,000 rows x 20 columns of two clusters a class with 1 % of the labels wrong, within 8 GB."""
    n, d = (5_000 if args.small else args.rows), 20
    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    centres = rng.standard_normal((4, d)).astype(np.float32) * 1.5
    X = rng.standard_normal((n, d), dtype=np.float32) + centres[rng.integers(0, 2, n) + 2 * (y > 0.0)]
    y = np.where(rng.random(n) < 0.01, -y, y)
    _, facts = solved(
        lambda: DeviceRows(RBF(1.0 / d), X, args.device), [whole(y, 1.0)], args, args.limit, memory=7 << 30
    )
    return facts


def search(args: Any) -> dict[str, Any]:
    """20,000 rows x 100 columns of TorchKM's mixture: 50 values of C in 10 folds, 500 problems."""
    n, folds, n_costs = (400, 3, 5) if args.small else (20_000, 10, 50)
    X, y = mixture(n, 100)
    kernel, costs = RBF(bandwidth(X)), np.geomspace(1e-3, 1e3, n_costs)
    fold = np.random.default_rng(0).permutation(n) % folds
    problems = []
    for k in range(folds):
        at = np.flatnonzero(fold != k)
        problems += [Box(at, y[at], np.full(len(at), C)) for C in costs]
    X = X.astype(np.float32)
    first = solved(lambda: DeviceRows(kernel, X, args.device), problems, args, args.limit)[1]["seconds"]
    answers, facts = solved(lambda: DeviceRows(kernel, X, args.device), problems, args, args.limit)
    judge = judged(kernel, X, problems, answers, 4 if args.small else 49) if args.judge else math.nan
    return facts | {"first": first, "judge": judge}


def deformed(args: Any) -> dict[str, Any]:
    """1,000,000 deformed digits, even against odd, C 10, gamma 0.02: small shifts, turns and bends of MNIST's."""
    X, y = digits(args)
    n = 3_000 if args.small else args.deformed
    device = torch.device(args.device)
    began = time.perf_counter()
    made, labels = deform(X, y, n, device)
    seconds = time.perf_counter() - began
    kernel, problems, memory = RBF(0.02), [whole(labels, 10.0)], args.memory and int(args.memory * 1e9)
    answers, facts = solved(lambda: DeviceRows(kernel, made, device), problems, args, args.limit, memory, args.judge)
    if args.judge:
        facts |= judged_by_rows(made, kernel.gamma, problems[0], answers[0])
    return facts | {"generation_s": seconds}


def deform(X: np.ndarray, y: np.ndarray, n: int, device: torch.device) -> tuple[torch.Tensor, np.ndarray]:
    """Return n rows (n, 784) on the device, each a random small deformation of one of X, and their labels."""
    side = 28
    images = torch.zeros((len(X), side * side), dtype=torch.float32, device=device)
    images[:, : X.shape[1]] = torch.as_tensor(X, device=device)
    generator = torch.Generator(device=device).manual_seed(0)
    out = torch.empty((n, side * side), dtype=torch.float32, device=device)
    labels = np.empty(n)
    for lo in range(0, n, 20_000):
        hi = min(n, lo + 20_000)
        which = (torch.arange(lo, hi, device=device)) % len(X)
        count = hi - lo

        def normal(*shape: int, count: int = count) -> torch.Tensor:
            return torch.randn((count, *shape), generator=generator, device=device)

        theta = torch.eye(2, 3, device=device).repeat(count, 1, 1)
        theta[:, :, :2] += 0.08 * normal(2, 2)
        theta[:, :, 2] += 0.06 * normal(2)
        grid = torch.nn.functional.affine_grid(theta, [count, 1, side, side], align_corners=False)
        bend = torch.nn.functional.interpolate(0.06 * normal(2, 5, 5), size=(side, side), mode="bicubic")
        grid = grid + bend.permute(0, 2, 3, 1)
        source = images[which].reshape(count, 1, side, side)
        moved = torch.nn.functional.grid_sample(source, grid, mode="bilinear", align_corners=False)
        out[lo:hi] = moved.reshape(count, -1).clamp_(0.0, 1.0)
        labels[lo:hi] = y[which.cpu().numpy()]
    return out, labels


def torchkm(args: Any) -> dict[str, Any]:
    """TorchKM on the cell search, for the same values of C and folds, from the kernel matrix to all 500 fits."""
    from torchkm.cvksvm import cvksvm  # here: only this cell needs it

    n, folds, n_costs = (400, 3, 5) if args.small else (20_000, 10, 50)
    X, y = mixture(n, 100)
    device, costs = torch.device(args.device), torch.logspace(-3, 3, n_costs, dtype=torch.float64)
    fold = torch.as_tensor(np.random.default_rng(0).permutation(n) % folds) + 1
    began = time.perf_counter()
    rows = DeviceRows(RBF(bandwidth(X)), X, device)
    at = torch.arange(n, device=device)
    K = rows.block(at, at, torch.float64)
    del rows
    given = {"nlam": n_costs, "ulam": 1.0 / (2.0 * n * costs), "foldid": fold, "nfolds": folds, "device": str(device)}
    model = cvksvm(Kmat=K, y=torch.as_tensor(y), eps=1e-5, maxit=100_000, gamma=1e-8, is_exact=0, **given)
    model.fit()
    if device.type == "cuda":
        torch.cuda.synchronize()
    facts = {"seconds": time.perf_counter() - began, "gap": math.nan, "certified": 0, "problems": folds * n_costs}
    peak = torch.cuda.max_memory_allocated() / 1e9 if device.type == "cuda" else None
    return facts | {"support": 0, "steps": int(model.cvnpass.sum()), "spectral": 0, "peak_gb": peak}


def door(X: np.ndarray, y: np.ndarray, gamma: float, args: Any) -> dict[str, Any]:
    """Time svmkit.fit(device=) twice, and return the facts."""
    device, seconds = "torch:cpu" if args.device == "cpu" else args.device, []
    for _ in range(2):
        began = time.perf_counter()
        fitted = fit(X, y, kernel=RBF(gamma), C=10.0, solver="fcsmo", device=device)
        seconds.append(time.perf_counter() - began)
    gaps = [math.inf if s.certificate.gap is None else s.certificate.gap for s in fitted.solutions]
    facts = {"seconds": seconds[-1], "first": seconds[0], "gap": max(gaps), "problems": len(gaps)}
    support = int(np.mean([s.n_support for s in fitted.solutions]))
    certified, steps = sum(gap <= GAP for gap in gaps), sum(s.n_iter for s in fitted.solutions)
    return facts | {"certified": certified, "support": support, "steps": steps, "spectral": 0, "peak_gb": None}


def mnist_fit(args: Any) -> dict[str, Any]:
    """The cell mnist by svmkit.fit."""
    X, y = digits(args)
    return door(X, y, 0.25, args)


def letter_fit(args: Any) -> dict[str, Any]:
    """The cell letter by svmkit.fit."""
    X, y = cached("letter.scale", args)
    return door(X[: 3_000 if args.small else None], y[: 3_000 if args.small else None], 1.0, args)


CELLS = {"mnist": mnist, "letter": letter, "search": search, "large": large, "deformed": deformed}
CELLS |= {"mnist_fit": mnist_fit, "letter_fit": letter_fit}
PEERS = {"torchkm": torchkm}


def line(name: str, facts: dict[str, Any]) -> str:
    """Return the line of a cell in the table."""
    if "error" in facts:
        return f"{name:<10} {facts['error']}"
    numbers = f"{facts['seconds']:8.3f} {facts.get('first', math.nan):8.3f} {facts['gap']:9.2e}"
    counts = f"{facts['certified']:4d}/{facts['problems']:<4d} {facts['support']:8d} {facts['steps']:10d}"
    judge, peak = facts.get("judge", math.nan), facts["peak_gb"] or math.nan
    return f"{name:<10} {numbers} {counts} {facts['spectral']:9d} {judge:9.2e} {peak:6.1f}  {TARGETS.get(name, '')}"


def failed(error: Exception) -> dict[str, Any]:
    """Print where a cell failed, and return its facts."""
    where = traceback.format_exc()[-1500:]
    print(where)
    return {"error": f"{type(error).__name__}: {error}"[:300], "where": where}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cells", nargs="*", help=f"of {', '.join([*CELLS, *PEERS])}; without, all but the last")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--data", default=os.environ.get("SVMKIT_DATA", "."))
    parser.add_argument("--cache", default="gpu-cache", help="where sets are kept as .npy")
    parser.add_argument("--out", help="a file for the results, as JSON")
    parser.add_argument("--small", action="store_true", help="few rows, for the CPU")
    parser.add_argument("--no-judge", dest="judge", action="store_false", help="leave out the certificates of the CPU")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of a cell's solve")
    parser.add_argument("--rows", type=int, default=3_000_000, help="of the cell large")
    parser.add_argument("--memory", type=float, help="GB of the cell deformed; by default what is free")
    parser.add_argument("--deformed", type=int, default=1_000_000, help="rows of the cell deformed")
    args = parser.parse_args()
    found: dict[str, Any] = {}
    name = torch.cuda.get_device_name() if args.device == "cuda" else "CPU"
    print(f"{name}, PyTorch {torch.__version__}")
    heads = f"{'seconds':>8} {'first':>8} {'gap':>9} {'certified':>9} {'support':>8} {'SMO':>10} {'spectral':>9}"
    print(f"{'cell':<10} {heads} {'judge':>9} {'GB':>6}  target", flush=True)
    for cell in args.cells or CELLS:
        began = time.perf_counter()
        try:
            found[cell] = {**CELLS, **PEERS}[cell](args)
        except Exception as error:  # the other cells still count
            found[cell] = failed(error)
            try:  # without kernels of our own
                code.code_for = minimise.code_for = products.code_for = lambda device: code.PLAIN
                found[cell] = {**CELLS, **PEERS}[cell](args) | {"plain": True}
            except Exception as again:
                found[cell] = failed(again)
        found[cell]["cell_s"] = round(time.perf_counter() - began, 2)
        print(line(cell, found[cell]), flush=True)
        if "parts" in found[cell]:
            more = [f"{name} {found[cell][name]}" for name in ("parts", "counts", "rounds", "cell_s")]
            print(f"{'':<10} {', '.join(more)}")
        if args.out:
            Path(args.out).write_text(
                json.dumps({"device": name, "torch": torch.__version__, "cells": found}, indent=1)
            )


if __name__ == "__main__":
    main()
