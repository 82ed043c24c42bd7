"""svmkit's side of the benchmark, with measurements for svmkit only: curves certified off the clock, kernel speed."""

from __future__ import annotations

import time

import numpy as np
from linear import Again, Dual
from peers_sides import Side

from svmkit import plugins
from svmkit.kernels.engines import engine_for
from svmkit.kernels.functions import RBF, Linear
from svmkit.kernels.gram import Gram
from svmkit.solver.loop.recorder import Journal
from svmkit.solver.loop.solve import solve
from svmkit.solver.stopping import Criterion, Gap, Seconds, Stop, parse_stop
from svmkit.training.train import fit

POINTS = 400  # of a history that is written down
PANEL = 128  # rows of the micro-benchmark


class Svmkit(Side):
    package = "svmkit"

    def fit(self, data, job):
        return fit(
            *data,
            solver=_solver(job),
            kernel=_kernel(job),
            C=job["C"],
            stop=_stop(job),
            memory=job["memory"],
            n_threads=self.threads,
        )

    def read(self, model, data, said):
        solution = model.solutions[0]
        found = solution.certificate
        facts = {
            "n_iter": solution.n_iter,
            "status": str(solution.status),
            "loop": solution.seconds,
            "kernel_values": model.kernel_values,
            "primal": found.primal,
            "dual": found.dual,
            "gap": found.gap,
            "history": _history(solution.history),
        }
        linear = model.model.kernel.name == "linear"
        point = np.append(model.model.weights[0], model.model.intercept) if linear else solution.point
        return {"w" if linear else "point": point}, facts

    def predict(self, model, X):
        return model.model.predict(X, n_threads=self.threads)

    def curve(self, worker, job) -> dict:
        """Points [seconds, certified gap, D, test accuracy, support vectors] of one solve, certified off its clock.

        Seconds include the work before the loop. The certificates use a Gram of their own, so that they do not speed
        up the solve.
        """
        solver, kernel, y = _solver(job), _kernel(job), worker.y
        judge = solver.pose(Gram(kernel, worker.X), y, job["C"])
        tester = None if worker.X_test is None else engine_for(kernel, worker.X_test)
        seen = []

        def score(point, _):
            certificate = judge.certificate(point)
            found = judge.decision_function(point, certificate)
            used, accuracy = np.flatnonzero(found.coef), None
            if tester is not None:
                h = tester.product(worker.X[used], found.coef[used, None])[:, 0] + found.intercept
                accuracy = float(np.mean((h > 0) == (job["y_test"] > 0)))
            seen.append((certificate.gap, certificate.dual, accuracy, len(used)))
            return float(len(seen) - 1)  # finds its place in the history

        job["y_test"] = np.load(job["y_test"]) if job.get("y_test") else None
        began = time.perf_counter()
        problem = solver.pose(Gram(kernel, worker.X, memory=job["memory"]), y, job["C"])
        before = time.perf_counter() - began
        solution = solve(problem, solver, stop=_stop(job), journal=Journal(score=score), n_threads=self.threads)
        found = [(before + p.seconds, *seen[int(p.accuracy)]) for p in solution.history if p.accuracy is not None]
        return {"curve": found, "seconds": before + solution.seconds, "status": str(solution.status)}

    def kernel(self, worker, job) -> dict:
        """Nanoseconds for a value of the kernel on float32 data: stored and summed, CSR and dense."""
        best = {}
        rows = np.sort(np.random.default_rng(0).permutation(len(worker.y))[:PANEL])
        dense = worker.X.toarray() if worker.X.shape[1] <= 1000 else None
        for name, X in (("csr", worker.X), ("dense", dense)):
            if X is None:
                continue
            engine = engine_for(_kernel(job), X.astype(np.float32))
            Z, out = engine.take(rows), np.zeros((len(rows), len(worker.y)), dtype=np.float32)
            for way, work in (
                ("stored", lambda e=engine, Z=Z, out=out: e.block(Z, out)),
                ("summed", lambda e=engine, Z=Z: e.product(Z, np.ones((len(rows), 1)))),
            ):
                best[f"{name}, {way}"] = 1e9 * _fastest(work, self.threads) / out.size
        return {"ns": best}


def _fastest(work, threads: int) -> float:
    from svmkit.runtime import threads as pools

    seconds = []
    with pools.using(threads):
        for _ in range(8):
            began = time.perf_counter()
            work()
            seconds.append(time.perf_counter() - began)
    return min(seconds[1:])


def _solver(job):
    return plugins.build("solver", job["solver"], job.get("options", {}))


def _kernel(job):
    return RBF(job["gamma"]) if job.get("gamma") else Linear()


def _stop(job) -> Criterion | Stop:
    """`gap:1e-3` and the like; `dual:VALUE` stops at a dual value as good as VALUE, or when the gap rules it out."""
    kind, _, number = job["stop"].partition(":")
    if kind != "dual":
        return parse_stop(job["stop"]) | Seconds(job.get("limit") or 10**6)
    return Dual(float(number)) | Again(job.get("tol", 1e-2)) | Gap(1e-7) | Seconds(job.get("limit") or 10**6)


def _history(points) -> list[list[float | None]]:
    """[seconds, objective, gap, support vectors] of at most POINTS of them."""
    at = np.unique(np.linspace(0, len(points) - 1, min(POINTS, len(points))).astype(np.int64))
    return [[points[i].seconds, points[i].objective, points[i].gap, points[i].n_support] for i in at.tolist()]
