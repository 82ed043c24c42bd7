"""
A table as an office exports it
===============================

Write a table of customers as an office exports it, with all the troubles at once; same arguments, same bytes.

.. code-block:: sh

    python examples/churn.py [--out churn.csv] [--rows 6000] [--seed 0] [--moved]

6,000 rows of which 4.6 % churned; semicolons, decimal commas with points between the thousands, latin-1, CRLF; an ID, a
name in nearly every row, texts, ISO dates, 0/1 columns, and holes in three number columns and the dates.
docs/own_csv.md takes it for the reader's own table.
"""

from __future__ import annotations

import argparse
from datetime import date, timedelta
from pathlib import Path

import numpy as np

# sphinx_gallery_thumbnail_path = "own_csv.png"
SHARE = 0.046  # of the customers that left
LABEL = "churned"
ID, NAME = "customer", "name"
OPTIONS = ("--label", LABEL, "--decimal", ",", "--encoding", "latin-1", "--drop", f"{ID},{NAME}")
HOLES = {"age": 0.02, "income": 0.05, "visits": 0.01, "last_order": 0.03}  # column: share of its rows

_CITIES = ["Aachen", "Bautzen", "Düren", "Fürth", "Görlitz", "Köln", "Lübeck", "Münster"]
_PLANS, _PAYMENTS = ["basic", "plus", "premium"], ["card", "invoice", "direct debit", "transfer"]
_FIRST = ["Anna", "Björn", "Cem", "Dörte", "Emil", "Fee"]
_LAST = ["Müller", "Schäfer", "Koch", "Größ"]


def churn(
    rows: int = 6000,
    seed: int = 0,
    *,
    delimiter: str = ";",
    decimal: str = ",",
    charset: str = "latin-1",
    holes: bool = True,
    moved: bool = False,
) -> bytes:
    """The table as the bytes of a CSV file; customers who have moved call twice as often, and most have one plan."""
    rng = np.random.default_rng(seed)
    age, calls = rng.integers(18, 90, rows), rng.poisson(3.0 if moved else 1.5, rows)
    tenure = np.minimum(rng.exponential(1200.0, rows).astype(int), 5500)
    income, balance = np.exp(rng.normal(7.6, 0.5, rows)), rng.normal(150.0, 400.0, rows)
    plan, flags = np.minimum(rng.integers(0, 5 if moved else 3, rows), 2), rng.random((rows, 3)) < (0.3, 0.6, 0.1)
    score = 1.2 * calls - tenure / 700.0 - plan + 1.5 * flags[:, 2] - balance / 400.0 + rng.normal(0.0, 0.7, rows)
    left = np.zeros(rows, dtype=int)
    left[np.argsort(-score, kind="stable")[: max(1, round(SHARE * rows))]] = 1
    today = date(2026, 6, 30)
    columns: dict[str, list[str]] = {
        ID: [str(100001 + i) for i in range(rows)],
        NAME: [f"{_FIRST[i % 6]} {_LAST[i % 4]}-{i}" for i in rng.permutation(rows)],
        "city": [_CITIES[i] for i in rng.integers(0, len(_CITIES), rows)],
        "plan": [_PLANS[i] for i in plan],
        "payment": [_PAYMENTS[i] for i in rng.integers(0, 4, rows)],
        "since": [(today - timedelta(days=int(days))).isoformat() for days in tenure],
        "last_order": [(today - timedelta(days=int(d))).isoformat() for d in rng.integers(0, 400, rows)],
        "age": [str(v) for v in age],
        "income": [_money(v, decimal) for v in income],
        "balance": [_money(v, decimal) for v in balance],
        "calls": [str(v) for v in calls],
        "visits": [str(v) for v in rng.poisson(4.0, rows)],
        "newsletter": [str(int(v)) for v in flags[:, 0]],
        "app": [str(int(v)) for v in flags[:, 1]],
        "complaint": [str(int(v)) for v in flags[:, 2]],
        LABEL: [str(v) for v in left],
    }
    for name, share in HOLES.items() if holes else ():
        for row in np.flatnonzero(rng.random(rows) < share):
            columns[name][row] = ""
    lines = [delimiter.join(columns), *map(delimiter.join, zip(*columns.values(), strict=True))]
    return "".join(f"{line}\r\n" for line in lines).encode(charset)


def write_churn(path: str | Path = "churn.csv", rows: int = 6000, **how) -> Path:
    """Write the table to a file; the parameters are those of `churn`."""
    Path(path).write_bytes(churn(rows, **how))
    return Path(path)


def _money(value: float, decimal: str) -> str:
    """An amount with two places and marks between the thousands, as in 1.234,56."""
    text = f"{value:,.2f}"
    return text.translate({ord(","): ".", ord("."): ","}) if decimal == "," else text.replace(",", "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="churn.csv")
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--seed", type=int, default=0, help="another seed gives other customers")
    parser.add_argument("--moved", action="store_true", help="customers who call twice as often, most on one plan")
    args = parser.parse_args()
    print(write_churn(args.out, args.rows, seed=args.seed, moved=args.moved))


if __name__ == "__main__":
    main()
