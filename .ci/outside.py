"""What a wheel has to do in an environment that has nothing else: run with that environment's python, away from here.

python .ci/outside.py ROOT     ROOT: the folder of the project, of which no file may be opened
"""

import contextlib
import io
import json
import sys
from importlib.metadata import distribution
from pathlib import Path

ROOT = Path(sys.argv[1]).resolve()
opened: set[Path] = set()


def watch(event: str, args: tuple) -> None:
    """Note each file below ROOT that this process opens, but for this one."""
    if event == "open" and isinstance(args[0], str) and ROOT in (path := Path(args[0]).absolute()).parents:
        opened.add(path)


def svmkit(*args: str) -> str:
    """Run the command line in this process; return what it prints."""
    from svmkit.cli import main

    with contextlib.redirect_stdout(io.StringIO()) as out:
        try:
            main(list(args))
        except SystemExit as ended:
            assert not ended.code, (args, ended.code)
    return out.getvalue()


def main() -> None:
    """List all plugins, train on each built-in set, log, predict and check, without a file of the project."""
    points = [p for p in distribution("svmkit").entry_points if p.group.startswith("svmkit.")]
    plugins = json.loads(svmkit("plugins", "--json"))
    unlisted = {p.name for p in points if p.group != "svmkit.interface"} - {row["name"] for row in plugins}
    assert not unlisted, unlisted
    broken = [row for row in plugins if row["status"] not in ("ok", "unavailable")]
    assert not broken, broken
    sets = [row["name"] for row in json.loads(svmkit("datasets", "list", "--json")) if row["origin"] == "built-in"]
    for name in sets:
        assert json.loads(svmkit("train", name, "--no-track", "--json"))["status"] == "converged", name
    result = json.loads(
        svmkit("train", "--solver", "swap", "--scale", "standard", *("--test-size=0.25", "--out=m", "--json"))
    )
    assert result["status"] == "converged" and 0.0 <= result["gap"] <= 1e-3 and result["test_accuracy"] > 0.95, result
    assert Path("mlflow.db").is_file() and result["run_id"]
    assert len(svmkit("predict", "m", "breast_cancer").split()) == 569
    checks = json.loads(svmkit("check", "swap", "--json"))
    assert checks["passed"], checks
    assert not opened, sorted(map(str, opened))
    print(f"{len(plugins)} plugins, {len(sets)} sets, gap {result['gap']:.2g}, {len(checks['checks'])} checks hold")


if __name__ == "__main__":
    sys.addaudithook(watch)
    main()
