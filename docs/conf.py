"""Sphinx builds the site of svmkit from this folder: sphinx-build -W --keep-going -b html docs docs/_build/html."""

import sys
from pathlib import Path

from svmkit import __version__

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "svmkit"
release = version = __version__
html_title = "svmkit"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinx_design",
    "sphinx_copybutton",
    "api_pages",  # this and the three below are in _extensions
    "command_pages",
    "gallery",
    "root_pages",
]
exclude_patterns = ["_build", "_extensions", "generated/examples"]
default_role = "py:obj"
smartquotes = False  # quotes and dashes are mostly parts of code
toc_object_entries_show_parents = "hide"

# Markdown: links to headings as GitHub names them, and the directives of Sphinx with colons
myst_enable_extensions = ["colon_fence", "attrs_block"]
myst_heading_anchors = 4

# The reference, from the docstrings: every name of a package's __all__ has a page
autodoc_typehints = "none"  # they stand in the docstrings
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
# parameters that do not exist, lack a type, or are described in another order than they have
numpydoc_validation_checks = {"PR02", "PR04", "PR07", "GL03", "RT05"}

copybutton_prompt_text = r"\$ |>>> "
copybutton_prompt_is_regexp = True

# Links to other sites cannot be followed without a network: `-b linkcheck` looks at the anchors within the site
linkcheck_ignore = [r"https?://.*"]

html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "svmkit"},
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"index": []}
copyright = "the authors of svmkit, MIT license"
