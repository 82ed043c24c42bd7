"""A comparison: data sets, solvers, stop rules and seeds, checked as a whole before anything runs, and its cells.

docs/compare.md has the keys of the file. Every stop rule is a separate run, as in the papers: it is exact, and each
cell can be repeated alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from svmkit import plugins
from svmkit.compare.metrics import METRICS, TESTED, TITLES
from svmkit.compare.plan import entries, fields, testing
from svmkit.compare.plan.sets import digests
from svmkit.errors import InputError
from svmkit.solver.requirements import Requires
from svmkit.solver.selection import by_name
from svmkit.solver.stopping import Stop, parse_stop
from svmkit.training.settings import Settings

TIME_LIMIT = 300.0
MOST = 100_000  # seeds, problems and cells, at most: a file of a few lines could define billions

_TOP = {"name", "about", "plugins", "data", "solvers", "stop", "seeds", "time_limit", "metrics", *entries.SHARED}
_SOLVER = {"solver", "options", "stops", "repeats", *entries.OF_SOLVERS}


@dataclass(frozen=True)
class Cell:
    """One fit of a comparison.

    Attributes
    ----------
    data, solver, stop : str
        Names in the spec.
    seed : int
        Seed of all random choices.
    settings : dict of str to object
        Everything that determines the fit, in JSON types; cells with equal settings have equal keys.
    split : int or None, default=None
        The number of the split or fold; None if the set has one fixed test, or none.

    Examples
    --------
    >>> from svmkit.compare import Cell
    >>> Cell("a1a", "smo", "", seed=0, settings={"seed": 0}).name
    'a1a smo seed 0'
    """

    data: str
    solver: str
    stop: str
    seed: int
    settings: dict[str, Any]
    split: int | None = None

    @property
    def key(self) -> str:
        return hashlib.sha256(json.dumps(self.settings, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def training(self) -> Settings:
        """The settings of the training; if gamma is a multiple of a rule, the kernel computes it from data."""
        about, how = self.settings["data"], self.settings["solver"]
        kernel, stop = entries.build_kernel(self.data, about["kernel"]), Stop(()) | parse_stop(self.settings["stop"])
        return entries.training_settings(about, how, kernel=kernel, stop=stop, seed=self.seed)

    @property
    def name(self) -> str:
        """The name in messages: set, solver, stop rule if it has a label, split if there are several, seed."""
        split = None if self.split is None else f"split {self.split}"
        return " ".join(filter(None, [self.data, self.solver, self.stop, split, f"seed {self.seed}"]))


@dataclass(frozen=True)
class Spec:
    """A checked comparison.

    Attributes
    ----------
    name, about : str
        Title and introduction of the report.
    data : dict of str to dict
        The problems: each is a set with its kernel and C.
    solvers : dict of str to dict
        Solvers with their options.
    stop : dict of str to str
        Stop rules by label.
    seeds : list of int
    time_limit : float
        Seconds for one cell.
    metrics : tuple of str
        Metrics to compare.
    extra : dict of str to object
        Sections that the caller of `read` requested, unchanged.

    Examples
    --------
    >>> from svmkit.compare.plan.spec import read
    >>> spec = read({"data": ["iris", "wine"], "solvers": ["smo", "fcsmo"], "C": [1, 10], "seeds": 3})
    >>> list(spec.data), len(spec.cells())
    (['iris C=1', 'iris C=10', 'wine C=1', 'wine C=10'], 24)
    """

    name: str
    about: str
    data: dict[str, dict]
    solvers: dict[str, dict]
    stop: dict[str, str]
    seeds: list[int]
    time_limit: float
    metrics: tuple[str, ...]
    extra: dict[str, Any] = field(default_factory=dict)

    def cells(
        self,
        *,
        data: Sequence[str] | None = None,
        solvers: Sequence[str] | None = None,
        stops: Sequence[str] | None = None,
        seeds: int | None = None,
    ) -> list[Cell]:
        """Return the cells by set, then by split and by seed, so that the solvers alternate.

        Parameters
        ----------
        data, solvers, stops : sequence of str, default=None
            Names to restrict the cells to; None is all.
        seeds : int, default=None
            Number of seeds, in place of the spec's.

        Raises
        ------
        InputError
            A name is not in the spec.
        """
        fields.require_known("data", data or [], self.data)
        fields.require_known("solvers", solvers or [], self.solvers)
        fields.require_known("stops", stops or [], self.stop)
        cells = []
        places = [(name, *split) for name in data or self.data for split in testing.splits(self.data[name]["test"])]
        for (name, split, test), at in product(places, range(max(seeds or 0, most_seeds(self.seeds, self.solvers)))):
            about = self.data[name] | {"test": test}
            for solver, label in product(solvers or self.solvers, stops or self.stop):
                how = self.solvers[solver]
                if solver not in about.get("solvers", self.solvers) or label not in how.get("stops", self.stop):
                    continue
                if at < (seeds or how.get("repeats", len(self.seeds))):
                    seed = self.seeds[at] if at < len(self.seeds) else at
                    cells.append(Cell(name, solver, label, seed, self._settings(about, solver, label, seed), split))
        return cells

    def _settings(self, about: dict[str, Any], solver: str, label: str, seed: int) -> dict[str, Any]:
        how = entries.join_solver(about, self.solvers[solver])
        sampler = str(how.get("sampler")).partition(":")[0]
        used = {"solver": how["solver"], "kernel": about["kernel"]["name"], "sampler": sampler}
        own = {f"{k} {name}": f.sha256 for k, name in used.items() for f in plugins.files_of(**{k: name})}
        data = {key: value for key, value in about.items() if key not in ("solvers", *entries.OF_SOLVERS)}
        settings = {"data": {"files": digests(about)} | data, "solver": how, "stop": self.stop[label], "seed": seed}
        return settings | ({"plugins": own} if own else {})


def load_spec(path: str | Path, extra: Sequence[str] = ()) -> Spec:
    r"""Read the comparison in a YAML file.

    Parameters
    ----------
    path : str or Path
        The file.
    extra : sequence of str, default=()
        Top-level keys that the caller reads; they are in `Spec.extra`.

    Raises
    ------
    InputError
        The file cannot be read or is not YAML, a key is unknown or missing, a name is not defined, a solver does not
        support the kernel, accuracy is requested for a set without a test, or there is nothing to compare.

    Examples
    --------
    >>> from pathlib import Path
    >>> from svmkit.compare import load_spec
    >>> _ = Path("two.yaml").write_text("data: iris\nsolvers: [smo, fcsmo]\n")
    >>> [cell.name for cell in load_spec("two.yaml").cells()]
    ['iris smo seed 0', 'iris fcsmo seed 0']
    """
    raw = fields.read_yaml(path)
    if isinstance(raw, dict):
        raw.setdefault("name", Path(path).stem)
    with fields.locate(str(path)):
        return read(raw, extra, Path(path).parent)


def most_seeds(seeds: list[int], solvers: dict[str, dict]) -> int:
    """Return the largest number of seeds of any solver."""
    return max(len(seeds), *(how.get("repeats", 1) for how in solvers.values()))


def read(raw: Any, extra: Sequence[str] = (), folder: str | Path = ".") -> Spec:
    """Return the comparison in a map with the keys of such a file; plugin files are relative to `folder`.

    Other parameters and errors are as for `load_spec`.
    """
    fields.require_keys("the spec", raw, {"data", "solvers"}, _TOP | set(extra))
    files = fields.as_list(raw.get("plugins", []))
    if not all(isinstance(name, str) for name in files):
        raise InputError(f"plugins should be Python files, as in [mine.py], not {raw['plugins']!r}")
    plugins.load_files([Path(folder) / name for name in files])
    solvers = _solvers(raw["solvers"])
    stop = _stops(raw.get("stop", "gap:1e-3"))
    for name, how in solvers.items():
        fields.require_known(f"solvers.{name}.stops", how.get("stops", []), stop)
    metrics = _metrics(raw.get("metrics"))
    kinds = [plugins.load("solver", str(how["solver"])) for how in solvers.values()]
    kernel = "linear" if any(Requires.LINEAR_KERNEL in kind.requires for kind in kinds) else "rbf"
    shared = {key: raw[key] for key in entries.SHARED if key in raw}
    data: dict[str, dict] = {}
    for name, entry in _as_entries("data", raw["data"]).items():
        fields.require_known(f"data.{name}.solvers", fields.as_list((entry or {}).get("solvers", [])), solvers)
        data |= entries.problems(name, entries.join(shared, entry or {}), kernel)
        if len(data) > MOST:
            raise InputError(f"there are more than {MOST} problems: split the comparison")
    for name, about in data.items():
        measured = [TITLES[key] for key in metrics or () if key.startswith("test_") and key != "test_metric"]
        if measured and about["test"] is None:
            raise InputError(
                f"data.{name} has no test split and {measured[0]} is asked for: give test, or leave it out"
            )
        entries.check_pairs(name, about, solvers)
    spec = Spec(
        name=str(raw.get("name", "comparison")),
        about=str(raw.get("about", "")).strip(),
        data=data,
        solvers=solvers,
        stop=stop,
        seeds=_seeds(raw.get("seeds", 1)),
        time_limit=fields.number("time_limit", raw.get("time_limit", TIME_LIMIT), positive=True),
        metrics=metrics or METRICS,
        extra={key: raw[key] for key in extra if key in raw},
    )
    splits = sum(len(testing.splits(about["test"])) for about in data.values())
    asked = splits * len(solvers) * len(stop) * most_seeds(spec.seeds, solvers)
    if asked > MOST:
        what = f"{asked} cells (sets x splits x solvers x stops x seeds)"
        raise InputError(f"{what} are more than {MOST}: split the comparison")
    if not spec.cells():
        raise InputError("there is nothing to compare: no set has a solver and a stop rule")
    return spec


def _as_entries(where: str, value: Any) -> dict[str, Any]:
    """Return NAME, [NAME, ...] or {NAME: entry} as {NAME: entry}; raise InputError for no name or a repeated name."""
    if isinstance(value, dict):
        named = {str(name): entry for name, entry in value.items()}
        for name, entry in named.items():
            fields.as_map(f"{where}.{name}", {} if entry is None else entry)
    else:
        names = [str(name) for name in fields.as_list(value)]
        if any(isinstance(name, dict | list | None) for name in fields.as_list(value)):
            raise InputError(f"{where} should be names, or a map of names to settings")
        if len(set(names)) < len(names):
            raise InputError(f"{where}: {next(n for n in names if names.count(n) > 1)} comes twice: leave one out")
        named = dict.fromkeys(names)
    if not named:
        raise InputError(f"{where} is empty: there is nothing to compare")
    return named


def _solvers(raw: Any) -> dict[str, dict]:
    checked = {}
    for name, entry in _as_entries("solvers", raw).items():
        where = f"solvers.{name}"
        how = {"solver": name, "options": {}, **(entry or {})}
        fields.require_keys(where, how, set(), _SOLVER)
        if "repeats" in how:
            fields.count(f"{where}.repeats", how["repeats"], most=MOST)
        how["options"] = {str(k): v for k, v in fields.as_map(f"{where}.options", how["options"]).items()}
        with fields.locate(where):
            by_name.sampler(how.get("sampler"))
            plugins.build("solver", str(how["solver"]), how["options"])
        if how.get("loss") is not None:
            fields.as_entry(f"{where}.loss", how["loss"])
            if "loss" in how["options"]:
                raise InputError(f"{where}: loss is given twice: leave it out of the options")
        if "stops" in how:
            how["stops"] = [str(label) for label in fields.as_list(how["stops"])]
        checked[name] = how
    return checked


def _stops(raw: Any) -> dict[str, str]:
    rules_by_label = {str(k): str(v) for k, v in (raw if isinstance(raw, dict) else {"": raw}).items()}
    if not rules_by_label:
        raise InputError("stop is empty: give a rule such as gap:1e-3")
    for rules in rules_by_label.values():
        parse_stop(rules)
    return rules_by_label


def _seeds(raw: Any) -> list[int]:
    if not isinstance(raw, list):
        return list(range(fields.count("seeds", raw, most=MOST)))
    if not raw or len(set(map(str, raw))) < len(raw):
        raise InputError("seeds should be different whole numbers, at least one")
    return [fields.count("seeds", seed, least=0) for seed in raw]


def _metrics(raw: Any) -> tuple[str, ...] | None:
    if raw is None:
        return None
    spelt = {"time": "fit_s", "support": "n_support", "iterations": "n_iter", "outliers": "train_outliers"}
    spelt |= {key.removeprefix("test_"): key for key in TESTED}
    names = [spelt.get(str(name), str(name)) for name in fields.as_list(raw)]
    fields.require_known("metrics", names, METRICS, what="metric")
    if not names:
        raise InputError("metrics is empty: leave it out to see all")
    return tuple(names)
