"""Texts that stand at the root of the repository, for pages of the site: their links, and the citation."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
CITATION = Path("generated", "citation.inc")
PAGES = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md"}


def lead_to_pages(app: Any, path: Path, docname: str, content: list[str]) -> None:
    """Let links between these texts lead to their pages, and drop links to files without a page."""
    text = content[0]
    for file, page in PAGES.items():
        text = text.replace(f"]({file})", f"]({page})")
    content[0] = re.sub(r"\[([^]]*)\]\((?:LICENSE|CODE_OF_CONDUCT\.md|examples/[\w/]*)\)", r"\1", text)


def citation() -> str:
    """Return how to cite the software and the papers, as Markdown, from CITATION.cff."""
    cff = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    lines = ["```bibtex", "@software{svmkit,", f"  title = {{{cff['title']}}},", f"  author = {{{_people(cff)}}},"]
    lines += [f"  version = {{{cff['version']}}},", f"  url = {{{cff['repository-code']}}}", "}", "```", ""]
    lines += ["## The papers", ""]
    for paper in cff["references"]:
        where = paper.get("journal") or paper.get("collection-title") or paper.get("conference", {}).get("name", "")
        lines.append(f"- {_people(paper)}: *{paper['title']}*. {where}, {paper['year']}. {paper.get('notes', '')}")
    return "\n".join([*lines, ""])


def _people(entry: dict[str, Any]) -> str:
    names = [who.get("name") or f"{who['given-names']} {who['family-names']}" for who in entry["authors"]]
    return ", ".join(names)


def write(app: Any) -> None:
    """Write the citation for docs/citing.md to include."""
    file = Path(app.srcdir) / CITATION
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(citation(), encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Write before Sphinx reads, and look at what pages include."""
    app.connect("builder-inited", write)
    app.connect("include-read", lead_to_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
