"""A conda recipe of both distributions, made from pyproject.toml, and rendered by rattler-build.

python .ci/conda.py OUT     OUT/recipe.yaml is written; beside it OUT/svmkit_core is the source (.ci/distributions.py)

`rattler-build build --recipe OUT/recipe.yaml` builds the packages where conda-forge can be reached.
"""

import re
import sys
import tomllib
from pathlib import Path

import yaml
from distributions import CORE, ROOT, halves
from rattler_build import Stage0Recipe

OTHERS = {"matplotlib": "matplotlib-base"}  # names on conda-forge that are not those of PyPI


def of_conda(requirement: str) -> str:
    """Return a requirement as conda writes it: numpy >=2.0.2."""
    found = re.fullmatch(r"([\w.-]+)(?:\[.*\])?(.*)", requirement.partition(";")[0].strip())
    assert found is not None, requirement
    name, versions = found[1].lower(), found[2].strip()
    return f"{OTHERS.get(name, name)} {versions}".strip()


def recipe(text: str, version: str) -> dict:
    """Return the recipe of svmkit-core, which has all files, and of svmkit, which has none."""
    given = tomllib.loads(text)
    project = given["project"]
    core, rest = ([of_conda(each) for each in half] for half in halves(text))
    python = f"python {project['requires-python']}"
    host = [python, "pip", *map(of_conda, given["build-system"]["requires"])]
    commands = [f"{name} = {call}" for name, call in project["scripts"].items()]
    script = "${{ PYTHON }} -m pip install . --no-deps --no-build-isolation -vv"
    about = {"homepage": project["urls"]["Homepage"], "summary": project["description"], "license": project["license"]}
    return {
        "recipe": {"name": "svmkit", "version": version},
        "outputs": [
            {
                "package": {"name": CORE, "version": version},
                "source": {"path": "svmkit_core"},
                "build": {"noarch": "python", "script": script, "python": {"entry_points": commands}},
                "requirements": {"host": host, "run": [python, *core]},
                "tests": [{"python": {"imports": ["svmkit"]}}, {"script": ["svmkit plugins"]}],
                "about": about | {"license_file": "LICENSE"},
            },
            {
                "package": {"name": "svmkit", "version": version},
                "build": {"noarch": "generic"},
                "requirements": {"run": [f"{CORE} =={version}", *rest]},
                "tests": [{"script": ["svmkit train iris"]}],
                "about": about,
            },
        ],
    }


def main(out: str) -> int:
    """Write the recipe, render it, and compare what rattler-build has understood; return 0 if it is the same."""
    text, found = (ROOT / "pyproject.toml").read_text("utf-8"), (ROOT / "svmkit" / "_version.py").read_text("utf-8")
    version = re.search(r'"(.+)"', found.rpartition("=")[2])
    assert version is not None
    made, path = recipe(text, version[1]), Path(out) / "recipe.yaml"
    path.write_text(yaml.safe_dump(made, sort_keys=False), "utf-8")
    rendered = [variant.recipe.to_dict() for variant in Stage0Recipe.from_file(path).render()]
    understood = {each["package"]["name"]: each["requirements"]["run"] for each in rendered}
    given = {each["package"]["name"]: each["requirements"]["run"] for each in made["outputs"]}
    print(f"{path.name}: " + ", ".join(f"{name} needs {len(needs)} packages" for name, needs in given.items()))
    if understood != given:
        print(f"{given} is understood as {understood}")
    return int(understood != given)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
