"""Settings of the documentation; ``make docs`` builds it into ``out/docs``."""

import importlib.util
import re
import sys
import warnings
from pathlib import Path
from typing import get_origin

import matplotlib

import modeseek

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from equations import add_equations  # noqa: E402  beside this file

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
numpydoc_show_class_members = False

#: Parts of the gallery that an extra is needed for are left out without it.
NEEDS = {"images": "skimage"}
absent = [name for name, needs in NEEDS.items() if not importlib.util.find_spec(needs)]

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "filename_pattern": "/plot_",
    "ignore_pattern": "|".join(f"plot_{name}" for name in absent) or "never^",
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("modeseek",),
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 10_000,
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
}
warnings.filterwarnings("error", module="__main__")

html_theme = "pydata_sphinx_theme"
html_title = "modeseek"
html_static_path = ["_static"]
html_css_files = ["modeseek.css"]
html_copy_source = False
html_show_sourcelink = False
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

    The pages are read on their own too, so what they link to are files: CONTRIBUTING.md,
    which the documentation includes, calls its neighbours ``docs/...``.
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
