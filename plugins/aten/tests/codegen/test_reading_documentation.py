"""What functions say of themselves is read as written, becomes their docstrings, and every mistake
is named with its line and a remedy.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dovetail_aten.codegen import DeclarationError, Library, read_native_functions
from dovetail_aten.codegen.generate import generate_docstrings
from dovetail_aten.codegen.overload_sets import overload_sets
from dovetail_aten.codegen.readers.documentation import read_documentation
from dovetail_aten.codegen.writers.docstrings import docstring

OPERATORS = """
- func: twice(Tensor self, *, Scalar alpha=1) -> Tensor
  variants: function, method
  autogen: twice_, twice.out

- func: special_double(Tensor self, int[2] steps) -> (Tensor, Tensor)
  variants: function
  python_module: special

- func: most(Tensor self) -> Tensor
  variants: function

- func: most.dim(Tensor self, int dim, bool keepdim=False) -> Tensor
  variants: function
"""
TWICE = "twice:\n  summary: Return twice each element.\n"


def said(folder: Path, text: str) -> dict[str, str]:
    """Return the docstrings of the operators by name."""
    declared, documented = folder / "native_functions.yaml", folder / "docs.yaml"
    declared.write_text(OPERATORS, encoding="utf-8")
    documented.write_text(text, encoding="utf-8")
    functions = read_native_functions(declared)
    documents = read_documentation([documented], functions)
    return {
        overloads.name: docstring(overloads, documents) for overloads in overload_sets(functions)
    }


def test_a_docstring_says_how_to_call_what_is_done_and_what_arguments_mean(tmp_path: Path) -> None:
    text = TWICE + (
        "  formula: 2 x\n  details: Of NaN, NaN.\n  source: Euclid.\n  returns: Of its shape.\n"
        "  arguments: {alpha: A factor.}\n  raises: {TypeError: For text.}\n"
    )
    assert said(tmp_path, text)["twice"] == (
        "twice(input, *, alpha=1, out=None)\n\nReturn twice each element.\n\n"
        "Computes ``2 x``.\n\nOf NaN, NaN.\n\nSource: Euclid.\n\n"
        "Parameters\n----------\ninput : Tensor\n    A tensor.\n"
        "alpha : number\n    A factor. Default: 1.\n"
        "out : Tensor\n    A tensor to write the result into.\n\n"
        "Returns\n-------\nTensor\n    Of its shape.\n\n"
        "Raises\n------\nTypeError\n    For text."
    )


def test_what_writes_in_place_is_said_to_do_what_the_other_does(tmp_path: Path) -> None:
    text = said(tmp_path, TWICE)["twice_"]
    assert "Write the result of `twice` into `input`" in text


def test_another_name_says_what_the_first_one_says(tmp_path: Path) -> None:
    text = said(tmp_path, TWICE + "special_double:\n  same_as: twice\n")["special_double"]
    assert text.startswith("double(input, steps)\n\nReturn twice each element.\n")
    assert "Another name of `twice`." in text
    assert text.endswith("\nsteps : int or list of int")


def test_each_overload_has_a_line(tmp_path: Path) -> None:
    text = said(tmp_path, "most:\n  summary: Return the most.\n")["most"]
    assert text.startswith("most(input)\nmost(input, dim, keepdim=False)\n\nReturn")


def test_functions_without_documentation_have_no_docstring(tmp_path: Path) -> None:
    assert set(said(tmp_path, "").values()) == {""}


def test_the_file_has_the_docstrings_of_what_is_documented(tmp_path: Path) -> None:
    said(tmp_path, TWICE)
    library = Library(package="spoken", folder=tmp_path)
    (text,) = generate_docstrings(library).values()
    packed = json.loads(text)
    assert packed.keys() == {"twice", "twice_"}
    assert packed["twice"].startswith("twice(input, *, alpha=1, out=None)\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("thrice:\n  summary: A.\n", "docs.yaml:1: there is no operator 'thrice'. Declare it"),
        ("twice:\n  about: A.\n", "docs.yaml:2: leftover entries: about are no keys"),
        ("twice:\n  details: A.\n", "docs.yaml:1: 'twice' has no summary, or 'same_as' beside it."),
        (TWICE + "  same_as: most\n", "'twice' has no summary, or 'same_as' beside it."),
        (TWICE + "  arguments: {beta: A.}\n", "docs.yaml:3: 'twice' takes no argument 'beta'."),
        (TWICE + "  arguments: A.\n", "docs.yaml:3: 'arguments' is not a mapping to texts."),
        (TWICE + TWICE, "docs.yaml:3: 'twice' appears twice."),
        ("twice:\n  same_as: most\n", "'twice' is said to be the same as 'most', which says noth"),
        ("- twice\n", "docs.yaml:1: the file is not a mapping of entries."),
        ("twice: [\n", "docs.yaml:2: not YAML: "),
    ],
)
def test_every_mistake_is_named_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DeclarationError) as error:
        said(tmp_path, text)
    assert message in str(error.value)
