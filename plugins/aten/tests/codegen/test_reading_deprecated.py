"""Overloads of old are read as written, and every mistake is named with its line and a remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail_aten.codegen import DeclarationError, NativeFunction, read_native_functions
from dovetail_aten.codegen.overload_sets import overload_sets
from dovetail_aten.codegen.readers.deprecated import with_deprecated
from dovetail_aten.codegen.writers.functions import write_functions

PLUS = (
    "- func: plus(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n"
    "  variants: function, method\n"
    "  autogen: plus_, plus.out\n"
)
OLD = "- func: plus(Tensor self, Scalar alpha, Tensor other) -> Tensor\n"


def read(folder: Path, text: str) -> list[NativeFunction]:
    declared, old = folder / "native_functions.yaml", folder / "deprecated.yaml"
    declared.write_text(PLUS, encoding="utf-8")
    old.write_text(text, encoding="utf-8")
    return with_deprecated(read_native_functions(declared), [old])


def test_an_overload_of_old_is_one_of_the_functional_and_of_the_inplace_name(
    tmp_path: Path,
) -> None:
    functional, inplace = overload_sets(read(tmp_path, OLD))
    assert [str(schema) for schema in functional.old] == [
        "aten::plus(Tensor self, Scalar alpha, Tensor other) -> Tensor"
    ]
    assert inplace.old == functional.old


def test_functions_with_overloads_of_old_take_surplus_arguments(tmp_path: Path) -> None:
    text = write_functions(read(tmp_path, OLD), is_split=False)["functions.py"]
    own = "input=MISSING, other=MISSING, old1=MISSING, alpha=1"
    assert f"def plus({own}, out=None, x=None, " in text
    assert f"def plus_({own}, x=None, x1=None, a=None, x2=None): return complete(" in text
    assert "'(Tensor input, Number alpha, Tensor other, *, Tensor out = None)'" in text
    assert "'(Tensor input, Tensor other, *, Number alpha = 1)'" in text


def test_functions_without_them_do_not(tmp_path: Path) -> None:
    text = write_functions(read(tmp_path, ""), is_split=False)["functions.py"]
    assert "def plus(input=MISSING, other=MISSING, surplus=MISSING, alpha=1, out=None, " in text
    assert "old1" not in text
    assert "OldOverloads(" not in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- name: plus(Tensor self) -> Tensor", "leftover entries: name"),
        (OLD + "  variants: method", "deprecated.yaml:2: leftover entries: variants"),
        ("- {}", "the entry has no 'func'"),
        ("- func: plus(Tensor self", "Invalid function schema"),
        ("- func: minus(Tensor self) -> Tensor", "there is no operator 'aten::minus'"),
        (
            "- func: plus(Tensor self, Scalar beta, Tensor other) -> Tensor",
            "'Scalar beta' is no argument of aten::plus",
        ),
        (
            "- func: plus(Tensor self, int alpha, Tensor other) -> Tensor",
            "'int alpha' is no argument of aten::plus",
        ),
        (
            "- func: plus(Tensor self, Tensor other, *, Scalar alpha) -> Tensor",
            "'Scalar alpha' is not positional",
        ),
        ("- func: plus(Tensor other, Tensor self) -> Tensor", "the calls look alike"),
        (OLD + OLD, "deprecated.yaml:2: .* is declared twice"),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        read(tmp_path, text)
