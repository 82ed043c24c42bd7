"""A model of what training on a cluster costs, from measured rates; no cluster of that size was run."""

from __future__ import annotations

from typing import NamedTuple

MESSAGES = 6  # a round
BYTES_A_ROW = 120  # weights, gradient and bounds that a part keeps of each row (svmkit_dask.cluster.wire.PER_ROW)
SQUARE = 2  # bytes of a value of the driver's square


class Rates(NamedTuple):
    """Measured rates.

    Attributes
    ----------
    values : float
        Kernel values a second and worker of one core.
    message : float
        Seconds of a message of which neither the rows nor the vectors matter.
    bytes_a_vector : float
        Bytes sent to one worker for each vector whose weight changes.
    rounds : int
        Rounds of a solve.
    again : float
        How often a support vector's kernel values are computed, for one time that a certificate needs them.
    network : float
        Bytes a second between driver and workers; assumed, as loopback says nothing of a network.
    steps : float
        Seconds of the driver, for each support vector and round.
    """

    values: float
    message: float
    bytes_a_vector: float
    rounds: int
    again: float
    network: float = 1.25e8
    steps: float = 1e-3

    @classmethod
    def of(cls, run: dict) -> Rates:
        """Return the rates that a run on a cluster of processes has shown."""
        crew = run["cluster"]
        busy = sum(worker["seconds"] for worker in crew["workers"].values())
        needed = run["n_samples"] * run["n_support"]
        small = [kind for name, kind in crew["kinds"].items() if name in ("losses", "take")]
        idle = sum(kind["wall"] - kind["compute"] for kind in small) / max(1, sum(kind["messages"] for kind in small))
        return cls(
            values=run["kernel_values"] / busy,
            message=idle,
            bytes_a_vector=crew["sent"] / max(1, run["n_support"]) / max(1, run["workers"]),
            rounds=crew["rounds"],
            again=run["kernel_values"] / needed,
            steps=crew["seconds"]["driver"] / crew["rounds"] / run["n_support"],
        )


class Cost(NamedTuple):
    """What a solve would cost: seconds by what they are spent on, and bytes."""

    rows: float
    workers: int
    n_support: float
    compute: float
    network: float
    latency: float
    driver: float
    worker_memory: float
    driver_memory: float

    @property
    def seconds(self) -> float:
        """All of it, one after the other."""
        return self.compute + self.network + self.latency + self.driver


def cost(rates: Rates, rows: float, workers: int, n_support: float, columns: int = 20) -> Cost:
    """Return the cost of a solve with this number of support vectors on workers of one core."""
    sent = rates.bytes_a_vector * n_support * workers  # the driver's own line carries all of it
    return Cost(
        rows,
        workers,
        n_support,
        rates.again * rows * n_support / (rates.values * workers),
        sent / rates.network,
        rates.rounds * MESSAGES * rates.message * max(1.0, workers / 2),
        rates.rounds * rates.steps * n_support,
        rows / workers * BYTES_A_ROW,
        SQUARE * n_support**2 + 8.0 * columns * n_support,
    )


def projected(rates: Rates) -> list[Cost]:
    """Return the costs of 10^8 and 10^9 rows on 100 workers, with few support vectors and with many."""
    return [cost(rates, rows, 100, n_support) for rows in (1e8, 1e9) for n_support in (5e3, 2e4, 1e5)]


def shown(costs: list[Cost]) -> str:
    """Return the costs as a table in Markdown."""
    head = "| rows | vectors | compute | network | latency | driver | in all | a worker holds | the driver holds |"
    lines = [head, "|---" * 9 + "|"]
    for c in costs:
        times = " | ".join(f"{seconds:,.0f} s" for seconds in (c.compute, c.network, c.latency, c.driver, c.seconds))
        sizes = " | ".join(f"{size / 2**30:,.1f} GiB" for size in (c.worker_memory, c.driver_memory))
        lines.append(f"| {c.rows:.0e} | {c.n_support:,.0f} | {times} | {sizes} |")
    return "\n".join(lines)
