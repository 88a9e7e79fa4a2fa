"""`write_package`: fills names into the files of this folder and writes them as a new package."""

from __future__ import annotations

import keyword
import re
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Final

FILES: Final = {
    "pyproject.toml": "pyproject.toml",
    "README.md": "README.md",
    "gitignore": ".gitignore",
    "init.py": "src/$package/__init__.py",
    "plugin.py": "src/$package/plugin.py",
    "operators.py": "src/$package/operators.py",
    "op_infos.py": "src/$package/op_infos.py",
    "py.typed": "src/$package/py.typed",
    "test_operators.py": "tests/test_$namespace.py",
}
"""Every file of this folder's ``files`` (with ``.txt`` behind its name), and where it goes."""


def write_package(name: str, parent: Path, namespace: str | None = None) -> list[Path]:
    """Write a new package with an operator library.

    Parameters
    ----------
    name
        Name of the distribution: letters, digits, ``-`` and ``_``.
    parent
        The folder in which to make its folder.
    namespace
        Namespace of its operators. Default: `name` without ``dovetail-`` in front, ``-`` as ``_``.

    Returns
    -------
    list of Path
        What was written.

    Raises
    ------
    ValueError
        If a name is invalid; nothing is written then.
    FileExistsError
        If there is such a folder already.
    """
    if not re.fullmatch(r"[A-Za-z]([A-Za-z0-9_-]*[A-Za-z0-9])?", name):
        raise ValueError(
            f"{name!r} cannot name a distribution. Use letters, digits and '-', such as "
            "'dovetail-signal'."
        )
    package = name.replace("-", "_").lower()
    chosen = namespace if namespace is not None else package.removeprefix("dovetail_")
    for word, what in ((package, "package"), (chosen, "namespace")):
        if not word.isidentifier() or keyword.iskeyword(word):
            raise ValueError(
                f"{word!r} is no name of a {what} in Python. Choose another name, or give "
                "--namespace."
            )
    if chosen in ("aten", "prim", "prims"):
        raise ValueError(f"namespace {chosen!r} is Dovetail's own. Give another with --namespace.")
    root = parent / name
    if root.exists():
        raise FileExistsError(f"{root} exists already. Choose another name, or remove it.")
    words = {"name": name, "package": package, "namespace": chosen, "version": version("dovetail")}
    written = []
    for source, target in FILES.items():
        path = root / Template(target).substitute(words)
        text = (files(__package__) / "files" / f"{source}.txt").read_text(encoding="utf-8")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(Template(text).substitute(words), encoding="utf-8")
        written.append(path)
    return written
