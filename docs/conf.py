"""Settings of the documentation; ``make docs`` builds it into ``out/docs``."""

import re
import sys
from pathlib import Path
from typing import get_origin

import matplotlib

import modeseek

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from equations import add_equations

matplotlib.use("Agg")

project = "modeseek"
author = "the modeseek developers"
copyright = author
version = release = modeseek.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "sphinx-mathjax-offline",  # MathJax from disk: pages need no network
]
myst_enable_extensions = ["amsmath", "dollarmath", "colon_fence"]
myst_heading_anchors = 3
math_number_all = False
exclude_patterns = ["gallery/README.txt", "gallery/*.py", "_templates"]
templates_path = ["_templates"]

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
add_module_names = False
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "filename_pattern": "/plot_",
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("modeseek",),
    "capture_repr": ("_repr_html_",),  # tables, not addresses of objects
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "modeseek"
html_static_path = ["_static"]
html_css_files = ["modeseek.css"]
html_copy_source = False
html_show_sourcelink = False
# Pages without pages below them need no bar at the left.
html_sidebars = {"start": [], "mathematics": []}
html_theme_options = {
    "navbar_align": "left",
    "show_prev_next": False,
    "show_toc_level": 2,
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "header_links_before_dropdown": 7,
    "secondary_sidebar_items": ["page-toc"],
}


def read_repository_links(app, relative_path, parent_docname, content):
    """Turn links between files of the repository into links between pages.

    CONTRIBUTING.md, which the documentation includes, is read by itself too: it calls
    the pages ``docs/...``.
    """
    content[0] = re.sub(r"\]\(docs/", "](", content[0])


def skip_member(app, what, name, member, skip, options):
    """Leave out what scikit-learn and named tuples add, and aliases of types."""
    added = re.fullmatch(r"(get|set)_(\w+_request|params|metadata_routing)", name)
    field = type(member).__name__ == "_tuplegetter"
    alias = get_origin(member) is not None
    return True if added or field or alias else skip


def setup(app):
    """Connect what is above, and the equations that functions compute."""
    app.connect("autodoc-skip-member", skip_member)
    app.connect("include-read", read_repository_links)
    # After numpydoc, which would not know the section.
    app.connect("autodoc-process-docstring", add_equations, priority=900)
