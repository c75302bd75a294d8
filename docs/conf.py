"""Sphinx configuration. Pages are MyST; their code cells are executed while they are read, so no number is typed in."""

import os
import re
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE / "_extensions"), str(HERE / "explorer")]

# What the cells start must not draw the width of a terminal or colours from the machine that builds.
os.environ.update(COLUMNS="110", NO_COLOR="1")
os.environ["PYTHONPATH"] = str(HERE.parent)
# Kernels talk to this process alone: nobody needs a warning about that for each of them.
quiet = HERE / "_build" / "ipython" / "profile_default" / "ipython_kernel_config.py"
quiet.parent.mkdir(parents=True, exist_ok=True)
quiet.write_text("get_config().IPKernelApp.log_level = 40\n")
os.environ["IPYTHONDIR"] = str(quiet.parents[1])

from make_data import assemble  # noqa: E402

from signalprop import _HOMES  # noqa: E402
from signalprop import __version__ as release  # noqa: E402

# The notebooks are pages. A link would do, but for their links to each other, which Sphinx follows out of docs/ through it.
shutil.rmtree(HERE / "notebooks", ignore_errors=True)
(HERE / "notebooks").mkdir()
for notebook in (HERE.parent / "notebooks").glob("*.ipynb"):
    shutil.copy2(notebook, HERE / "notebooks")

project = "signalprop"
author = "The signalprop developers"
copyright = "2026, the signalprop developers"
version = release

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.viewcode",
    "sphinx-mathjax-offline",  # formulas without asking a server
    "numpydoc",
    "myst_nb",
    "sphinx_design",
    "sphinxcontrib.bibtex",
    "command",
    "status",
]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}
exclude_patterns = ["_build", "**/.ipynb_checkpoints"]

html_theme = "furo"
html_title = f"signalprop {release}"
html_static_path = ["_static"]
html_css_files = ["house.css"]
assemble(HERE / "_build" / "extra" / "explorer")
html_extra_path = ["_build/extra"]

myst_enable_extensions = ["amsmath", "dollarmath", "colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 3
nb_execution_mode = "inline"
nb_eval_name_regex = r"^.+$"  # {eval}`round(Q, 2)`: any expression, not only a name
nb_execution_timeout = 240
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True
nb_output_stderr = "remove"

bibtex_bibfiles = ["../signalprop/references.bib"]  # that of `signalprop cite`
bibtex_default_style = "unsrt"

autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_show_class_members = False
intersphinx_mapping: dict[str, tuple[str, None]] = {}  # the build needs no network


def fill_gallery(app, docname, source):
    """The gallery is the index page of figures/, with links that Sphinx copies."""
    if docname == "gallery":
        page = (HERE.parent / "figures" / "README.md").read_text().partition("\n")[2]
        page = page.replace("](", "](../figures/")
        source[0] += re.sub(r"\[(\w+)\]\((\S+\.(?:csv|csv\.gz|svg|json))\)", r"{download}`\1 <\2>`", page)


def find_home(app, env, node, contnode):
    """A public name, signalprop.sample, is documented where it comes from, signalprop.montecarlo.sampling.sample."""
    name = node.get("reftarget", "").removeprefix("signalprop.")
    if node.get("refdomain") != "py" or name not in _HOMES:
        return None
    home = f"{_HOMES[name]}.{name}"
    return env.domains["py"].resolve_xref(env, node["refdoc"], app.builder, node["reftype"], home, node, contnode)


def setup(app):
    """Connect what is made while building."""
    app.connect("source-read", fill_gallery)
    app.connect("missing-reference", find_home)
    # It only copies files and says nothing about parallel builds.
    app.extensions["sphinx-mathjax-offline"].parallel_read_safe = True
