"""Settings of the site: `make docs` builds it, as HTML that opens from disk."""

import sys
from inspect import Signature, signature
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT / "tools"))

from site_pages import write_all  # noqa: E402 - found by the path above
from site_pages.copied_pages import linked, list_of_others  # noqa: E402

project = "Dovetail"
copyright = "Dovetail developers"
version = release = "0.1.0"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "index"
exclude_patterns = ["_build"]

html_theme = "furo"
html_title = "Dovetail"
html_static_path = ["static", "_made/static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False

myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "deflist"]
# Pages are run by the tests, notebooks by the build.
nb_execution_mode = "force"
nb_execution_timeout = 120
nb_execution_raise_on_error = True

autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_ivar = True
default_role = "code"
# Attributes of several classes have one name: a docstring that names one means its own class.
suppress_warnings = ["ref.python"]


def setup(app: Any) -> None:
    """Write what is made from the code before any page is read, and mend links to other files."""
    write_all(HERE)

    def read(_: Any, name: str, source: list[str]) -> None:
        page = HERE / f"{name}.md"
        if page.exists() and not name.startswith("_made"):
            source[0] = linked(source[0], page, page, ROOT)
        if name == root_doc:
            source[0] += list_of_others(HERE)

    def called(_: Any, kind: str, name: str, value: Any, *given: Any) -> tuple[str, str] | None:
        _options, arguments, returned = given
        if kind != "class" or "(*args, **kwargs)" not in (arguments or ""):
            return None
        found = signature(value)
        plain = [each.replace(annotation=each.empty) for each in found.parameters.values()]
        return str(Signature(plain)), returned or ""

    def without_calls(_: Any, kind: str, name: str, value: Any, *given: Any) -> None:
        lines = given[1]
        while lines and lines[0].startswith(f"{getattr(value, '__name__', None)}("):
            del lines[0]  # where it has another name here, they are left of what autodoc reads

    def skipped(_: Any, kind: str, name: str, value: Any, skip: bool, options: Any) -> bool | None:
        """Leave out fields of named tuples that only have the docstring that Python gives them."""
        return (getattr(value, "__doc__", None) or "").startswith("Alias for field") or None

    app.connect("source-read", read)
    app.connect("autodoc-skip-member", skipped)
    app.connect("autodoc-process-docstring", without_calls)
    app.connect("autodoc-process-signature", called)
