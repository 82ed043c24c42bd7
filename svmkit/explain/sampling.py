"""Shapley values by sampling, for decisions without a known exact form: any kernel with columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from svmkit.data.prepare.features import is_sparse
from svmkit.errors import InputError
from svmkit.explain.players import Players
from svmkit.explain.subject import Subject, decide

ENTRIES = 1 << 21  # entries of rows that are decided at a time


class Sampled(NamedTuple):
    """Sampled Shapley values and their standard errors, float64 (n_samples, n_players, n_functions)."""

    values: np.ndarray
    errors: np.ndarray


def sample_values(model: Subject, X: Any, Z: Any, players: Players, rounds: int, seed: int) -> Sampled:
    """Return the mean gains of the players over random orders, each with its reverse, for every row of the background.

    Parameters
    ----------
    model : SVMModel
        The model whose decisions are explained.
    X, Z : ndarray or CSR of shape (n_samples, n_features) and (n_backgrounds, n_features)
        The rows to explain, and the background; not preprocessed.
    players : Players
        The columns.
    rounds : int
        The number of orders drawn for each pair of rows, at least 2, each walked in both directions.
    seed : int
        The seed of the orders.

    Returns
    -------
    Sampled
        Values sum to the decision minus the mean decision of the background, since each walk does. Each row of the
        background counts once, so that the errors are those of the orders alone, of a stratified mean.

    Raises
    ------
    InputError
        There are fewer than 2 rounds: a standard error needs two.

    References
    ----------
    Castro, Gomez, Tejada: Polynomial calculation of the Shapley value based on sampling. Computers & Operations
    Research 36, 2009. Mitchell, Cooper, Frank, Holmes: Sampling permutations for Shapley value estimation. JMLR 23,
    2022 (section 3: orders with their reverses).
    """
    if rounds < 2:
        raise InputError(f"rounds must be at least 2, not {rounds}: a standard error needs two")
    rng, n_players, owner = np.random.default_rng(seed), len(players.names), players.owner
    rows, others = (np.asarray(each.toarray() if is_sparse(each) else each, dtype=np.float64) for each in (X, Z))
    step = max(1, ENTRIES // (2 * n_players * rows.shape[1]))
    values, errors = [], []
    for x in rows:
        total, spread = 0.0, 0.0
        for at in range(0, len(others), step):
            z = others[at : at + step]
            gains = np.array(
                [_walk(model, x, z, rng.permuted(_orders(z, n_players), axis=1), owner) for _ in range(rounds)]
            )
            total = total + gains.mean(axis=0).sum(axis=0)
            spread = spread + gains.var(axis=0, ddof=1).sum(axis=0) / rounds
        values.append(total / len(others))
        errors.append(np.sqrt(spread) / len(others))
    return Sampled(np.array(values), np.array(errors))


def _orders(z: np.ndarray, n_players: int) -> np.ndarray:
    return np.tile(np.arange(n_players), (len(z), 1))


def _walk(model: Subject, x: np.ndarray, z: np.ndarray, rank: np.ndarray, owner: np.ndarray) -> np.ndarray:
    """Return the gains of the players, float64 (n_z, n_players, n_functions), the mean of an order and its reverse.

    Parameters
    ----------
    model : SVMModel
    x, z : ndarray of shape (n_features,) and (n_z, n_features)
        The row, and rows of the background.
    rank : int ndarray of shape (n_z, n_players)
        The position of each player in the order.
    owner : int ndarray of shape (n_features,)
        The player of each feature.
    """
    n_z, n_players = rank.shape
    joined = rank[:, None, owner] < np.arange(n_players + 1)[None, :, None]  # the first k players
    forward = np.where(joined, x, z[:, None])
    backward = np.where(joined[:, 1:-1], z[:, None], x)  # all but the first k
    stacked = np.concatenate([forward, backward], axis=1).reshape(-1, len(x))
    found = decide(model, sp.csr_array(stacked) if is_sparse(model.vectors) else stacked)
    found = found.reshape(n_z, 2 * n_players, -1)
    up, down = found[:, : n_players + 1], found[:, n_players + 1 :]
    down = np.concatenate([up[:, -1:], down, up[:, :1]], axis=1)  # with all of x, ..., with nothing of it
    gains = 0.5 * (np.diff(up, axis=1) - np.diff(down, axis=1))  # of the player that is the k-th
    return np.take_along_axis(gains, rank[:, :, None], axis=1)
