"""The stochastic methods in plain numpy on dense rows, each step written as its paper has it."""

import numpy as np
from support.problems import blobs, make, posed

from svmkit.solver.sampler import Draws, Full

LINEAR = ["pegasos", "sgd", "sgdqn", "folos"]
EVERY = [*LINEAR, "norma"]


def rows(m=40, seed=0):
    """X (m, 4) with a column of zeros and some other zeros, y (m,), C (m,)."""
    X, y = blobs(m, 4, seed=seed)
    X = np.where(np.random.default_rng(seed).random(X.shape) < 0.7, X, 0.0)
    X[:, 2] = 0.0
    return X, y, np.random.default_rng(seed + 1).uniform(0.3, 1.7, size=m)


def state_of(solver, problem, sampler=None, seed=0, start=None):
    return solver.init(problem, start, Draws(sampler or Full(), problem.y, np.random.default_rng(seed)))


def after(name, epochs=3, *, data=None, seed=0, sampler=None, kernel=None, **options):
    """(state, point) after so many steps, by default in the order of the data."""
    solver = make(name, **options)
    state = state_of(solver, posed(solver, *(data or rows()), kernel=kernel), sampler, seed)
    for _ in range(epochs):
        solver.step(state)
    return state, solver.solution(state)


def means(iterates, late):
    """The mean of the iterates, or Shamir and Zhang's of 2013 with their eta = 3."""
    eta = {"mean": 0.0, "late": 3.0}[late]
    mean = 0.0
    for k, w in enumerate(iterates, 1):
        mean = mean + (1.0 + eta) / (k + eta) * (w - mean)
    return mean


def derivative(loss, margin):
    """Minus that of the loss."""
    slack = np.maximum(1.0 - margin, 0.0)
    return (slack > 0) * 1.0 if loss == "hinge" else 2.0 * slack


def with_bias(X, bias):
    return np.column_stack([X, np.full(len(X), bias)]) if bias else X


class Replay:
    """Data in the form lambda/2 |w|^2 + mean of s_i loss_i."""

    def __init__(self, data, *, bias=1.0, loss="hinge", epochs=3):
        X, self.y, C = data
        self.X, self.loss = with_bias(X, bias), loss
        self.m = len(self.y)
        self.lam, self.s = 1.0 / C.sum(), C / C.mean()
        self.order = np.tile(np.arange(self.m), epochs)
        self.w = np.zeros(self.X.shape[1])

    def pull(self, i, w, length=None):
        """s_i times minus the loss's derivative, cut where a step of that length would go beyond the margin."""
        margin = self.y[i] * (self.X[i] @ w)
        pull = self.s[i] * derivative(self.loss, margin)
        if self.loss == "squared_hinge" and pull > 0 and length:
            pull = min(pull, (1.0 - margin) / length)
        return pull

    def pegasos(self, batch=1, project=False):
        for t in range(1, len(self.order) // batch + 1):
            part = self.order[(t - 1) * batch : t * batch]
            eta = 1.0 / (self.lam * t)
            square = (self.X**2).sum(axis=1)
            pulls = [self.pull(i, self.w, eta * square[i]) for i in part]
            step = sum(p * self.y[i] * self.X[i] for p, i in zip(pulls, part, strict=True)) / batch
            self.w = (1.0 - eta * self.lam) * self.w + eta * step
            norm = np.linalg.norm(self.w)
            if project and norm > 0:
                self.w = min(1.0, 1.0 / (np.sqrt(self.lam) * norm)) * self.w
            yield self.w

    def sgd(self, t0):
        for t, i in enumerate(self.order, 1):
            eta = 1.0 / (self.lam * (t + t0))
            pull = self.pull(i, self.w, eta * self.X[i] @ self.X[i])
            self.w = self.w - eta * (self.lam * self.w - pull * self.y[i] * self.X[i])
            yield self.w

    def folos(self, penalty, t0=None, eta0=None):
        for t, i in enumerate(self.order, 1):
            eta = eta0 / np.sqrt(1.0 + t / self.m) if penalty == "l1" else 1.0 / (self.lam * (t + t0))
            half = self.w + eta * self.pull(i, self.w, eta * self.X[i] @ self.X[i]) * self.y[i] * self.X[i]
            if penalty == "l1":
                self.w = np.sign(half) * np.maximum(np.abs(half) - eta * self.lam, 0.0)
            else:
                self.w = half / (1.0 + eta * self.lam)
            yield self.w

    def sgdqn(self, t0, skip, clip, curvature="step"):
        """Bordes et al. 2010, the corrected algorithm, with its r_j cut to [lambda, clip lambda]."""
        B, count, update = np.full(self.w.size, 1.0 / (self.lam * t0)), skip, False
        for i in self.order:
            yx = self.y[i] * self.X[i]
            pull = self.pull(i, self.w, self.X[i] @ (B * self.X[i]))
            new = self.w + pull * B * yx
            if update:
                change = self.s[i] * (derivative(self.loss, yx @ self.w) - derivative(self.loss, yx @ new))
                p = self.lam * (new - self.w) + change * yx
                moved = new != self.w
                r = np.full(B.size, self.lam)
                r[moved] = p[moved] / (new - self.w)[moved]
                if curvature == "column":  # each column's part of the curvature along B x
                    part = B * self.X[i] ** 2 / (self.X[i] @ (B * self.X[i]))
                    r[moved] = self.lam + part[moved] * (r[moved] - self.lam)
                r = np.clip(r, self.lam, clip * self.lam)
                B, update = B / (1.0 + skip * B * r), False
            self.w, count = new, count - 1
            if count == 0:
                self.w, count, update = self.w - skip * self.lam * B * self.w, skip, True
            yield self.w


def norma(K, y, C, *, eta=0.2, tau=0, loss="hinge", epochs=2):
    """Coefficients after each sample; K (m, m) holds the bias."""
    m, lam, s = len(y), 1.0 / C.sum(), C / C.mean()
    c, queue = np.zeros(m), []
    for t, i in enumerate(np.tile(np.arange(m), epochs), 1):
        step = eta * C.mean() * np.sqrt(m / t)
        margin = y[i] * (K[i] @ c)
        pull = s[i] * derivative(loss, margin)
        if loss == "squared_hinge" and pull > 0:
            pull = min(pull, (1.0 - margin) / (step * K[i, i]))
        c = (1.0 - step * lam) * c
        if pull > 0:
            c[i] += step * pull * y[i]
            queue = [*[j for j in queue if j != i], i]
        if 0 < tau < len(queue):
            c[queue.pop(0)] = 0.0
        yield c.copy()
