"""The manual: `sphinx-build -c docs . build/manual` from the checkout, with catena installed as `.[docs]`.

The source folder is the checkout itself, so that links between pages are the same here and where the files are read.
"""

import sys
from pathlib import Path

from sphinx.application import Sphinx

import catena

sys.path.insert(0, str(Path(__file__).parent))
import gallery

project = "catena"
author = "the authors of catena"
release = version = catena.__version__
root_doc = "docs/index"
include_patterns = ["docs/**.md", "benchmarks/README.md", "benchmarks/results/**.md", "CHANGELOG.md", "CONTRIBUTING.md"]
# formulas and cards need nothing from other sites, so that the manual can be read without a network
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "sphinx_design",
]
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence"]

# what docstrings put between single backticks is code
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
napoleon_google_docstring = False
napoleon_use_rtype = False
myst_heading_anchors = 3
# pages that play are made by the gallery beside the pages that frame them
html_theme = "pydata_sphinx_theme"
html_title = "catena"
html_logo = html_favicon = "pictures/logo.svg"
html_static_path = ["style"]
html_css_files = ["manual.css"]
html_extra_path = ["site"]
html_sidebars = {"docs/index": []}
html_theme_options = {
    "show_prev_next": False,
    "navigation_depth": 2,
    "header_links_before_dropdown": 5,
    "logo": {"text": "catena"},
}


def setup(app: Sphinx) -> None:
    """Run the examples before pages are looked for, and hand over what plays when they are built."""

    def finish(app: Sphinx, error: Exception | None) -> None:
        if error is None:
            gallery.copy_pages(Path(app.srcdir), Path(app.outdir))

    app.connect("config-inited", lambda app, config: gallery.write(Path(app.srcdir)))
    app.connect("build-finished", finish)
