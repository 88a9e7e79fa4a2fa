"""Functions of operators have the docstrings of their declarations, with compiled code and without;
what has not been written says how to write it.
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import pydoc
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import dovetail_aten
from dovetail_aten import functions
from dovetail_aten.codegen import Library
from dovetail_aten.codegen.generate import generate_docstrings
from dovetail_aten.templates import docstrings

PROGRAM = """
import inspect, json, sys
from dovetail_aten import functions
ahead = "json" in sys.modules
names = sys.stdin.read().split()
print(json.dumps([ahead, {name: getattr(functions, name).__doc__ for name in names}]))
"""


@pytest.fixture(scope="module")
def declared() -> dict[str, str]:
    folder = Path(dovetail_aten.__file__).parent
    (text,) = generate_docstrings(Library.of_folder(folder)).values()
    texts: dict[str, str] = json.loads(text)
    return texts


@pytest.mark.parametrize("native", ["", "0"])
def test_every_function_has_the_docstring_of_its_declaration(
    declared: dict[str, str], native: str
) -> None:
    environment = dict(os.environ)
    environment.pop("DOVETAIL_NATIVE", None)
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=" ".join(declared),
        env=environment | ({"DOVETAIL_NATIVE": native} if native else {}),
        capture_output=True,
        text=True,
        check=True,
    )
    _, found = json.loads(run.stdout)
    assert found == declared
    assert len(found) > 500


def test_tools_show_what_the_declaration_says(declared: dict[str, str]) -> None:
    @functools.wraps(functions.softmax)
    def wrapped(*args: object) -> None: ...

    assert inspect.getdoc(functions.softmax) == wrapped.__doc__ == declared["softmax"]
    assert "Return the exponentials" in pydoc.render_doc(functions.softmax)
    assert inspect.getdoc(dovetail_aten.Tensor.softmax) == declared["softmax"]
    assert dovetail_aten.Tensor.real.__doc__ == "Return the real part of each element."


def test_docstrings_that_were_not_written_say_how_to_write_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = ModuleType("silent._generated")
    package.__path__ = [str(tmp_path)]
    package.__spec__ = functions.__spec__
    monkeypatch.setitem(sys.modules, package.__name__, package)
    names = {"__name__": "silent._generated.functions"}
    exec("def f(): ...\ndef g(): ...", names)
    f, g = names["f"], names["g"]
    docstrings.document(f)  # type: ignore[arg-type]
    assert f.__doc__.startswith("The docstrings of silent._generated have not been written. ")
    docstrings.documented.cache_clear()
    (tmp_path / docstrings.DOCSTRINGS).write_text('{"f": "Do it."}')
    assert docstrings.document(f) == f.__doc__ == "Do it."  # type: ignore[arg-type]
    assert docstrings.document(g) is None  # type: ignore[arg-type]
