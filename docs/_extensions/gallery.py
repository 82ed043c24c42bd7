"""The gallery: copies of examples/*.py, which sphinx-gallery runs where their files do no harm."""

from __future__ import annotations

import ast
import os
import re
import shutil
import warnings
from pathlib import Path
from typing import Any

from sphinx_gallery.scrapers import figure_rst

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRATCH = Path("generated", "examples")
NOT_RUN = "Not run for this page:"  # the words by which an example says so, with the reason


def examples() -> dict[str, str]:
    """Return the text of the docstring of every example by the name of its file."""
    return {
        file.name: ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
        for file in EXAMPLES.glob("*.py")
    }


def written_pictures(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Return the markup of the pictures that a block of an example has written as files, and take them away."""
    taken = []
    for picture in sorted(Path(block_vars["src_file"]).parent.glob("*.png")):
        taken.append(str(next(block_vars["image_path_iterator"])))
        shutil.move(picture, taken[-1])
    return figure_rst(taken, gallery_conf["src_dir"])


def without_path(message: Warning | str, category: type[Warning], *where: Any) -> str:
    """Return a warning as the pages show it: where it was raised is a path of the machine that built them."""
    return f"{category.__name__}: {message}\n"


def prepare(app: Any, config: Any) -> None:
    """Copy the examples, and name the ones to run."""
    os.environ.pop("SVMKIT_DATA", None)  # the same sets everywhere: the built-in ones
    warnings.formatwarning = without_path
    here = Path(app.srcdir) / SCRATCH
    shutil.rmtree(here, ignore_errors=True)
    shutil.copytree(EXAMPLES, here, ignore=lambda folder, names: [n for n in names if not n.endswith((".py", ".rst"))])
    run = [re.escape(name) for name, text in examples().items() if NOT_RUN not in text]
    config.sphinx_gallery_conf = {
        "examples_dirs": str(SCRATCH),
        "gallery_dirs": str(Path("generated", "gallery")),
        "filename_pattern": rf"[/\\](?:{'|'.join(run)})$",
        "image_scrapers": ("matplotlib", "gallery.written_pictures"),
        "download_all_examples": False,
        "show_memory": False,
        "show_signature": False,
        "write_computation_times": False,
        "remove_config_comments": True,
    }


def setup(app: Any) -> dict[str, bool]:
    """Come before sphinx-gallery, which reads its configuration when it is called itself."""
    app.connect("config-inited", prepare, priority=5)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
