"""Declarations of operators are read as written, and every mistake is named with its line and a
remedy.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail_aten.codegen import DeclarationError, NativeFunction, read_native_functions

SINE = "- func: sine(Tensor self) -> Tensor\n"


def read(folder: Path, text: str) -> list[NativeFunction]:
    path = folder / "native_functions.yaml"
    path.write_text(text, encoding="utf-8")
    return read_native_functions(path)


def test_a_bare_entry_is_a_function_of_kind_other(tmp_path: Path) -> None:
    (sine,) = read(tmp_path, SINE)
    assert (sine.name, sine.variants, sine.kind, sine.promotion) == (
        "sine",
        ("function",),
        "other",
        "none",
    )


def test_an_entry_without_namespace_is_in_aten(tmp_path: Path) -> None:
    (sine,) = read(tmp_path, SINE)
    assert sine.schema.name == "aten::sine"


def test_an_entry_may_name_its_namespace(tmp_path: Path) -> None:
    (crop,) = read(tmp_path, "- func: vision::crop.box(Tensor image, int[4] box) -> Tensor\n")
    assert (crop.namespace, crop.name, crop.text[:8]) == ("vision", "crop.box", "crop.box")


def test_elementwise_operators_promote_tensors_and_operand_scalars(tmp_path: Path) -> None:
    (add,) = read(
        tmp_path,
        "- func: add.T(Tensor self, Scalar other, *, Scalar alpha=1) -> Tensor\n  shape: "
        "elementwise\n",
    )
    assert (add.promotion, add.promote) == ("same", ("self", "other"))


def test_automatic_tags_are_added(tmp_path: Path) -> None:
    _, inplace, out = read(tmp_path, SINE + "  autogen: sine_, sine.out\n")
    assert inplace.tags == ("generated", "inplace", "pt2_compliant_tag")
    assert out.tags == ("generated", "out", "pt2_compliant_tag")


def test_an_inplace_variant_writes_and_returns_self(tmp_path: Path) -> None:
    text = (
        "- func: add.T(Tensor self, Tensor other, *, Scalar alpha=1) -> "
        "Tensor\n  variants: method\n  autogen: add_.T\n"
    )
    inplace = read(tmp_path, text)[1]
    assert inplace.text == "add_.T(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)"
    assert (inplace.derived_from, inplace.variants) == ("add.T", ("method",))


@pytest.mark.parametrize(
    ("functional", "name", "expected"),
    [
        (
            "f(Tensor self) -> Tensor",
            "f.out",
            "f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
        ),
        (
            "f(Tensor self, *, int n) -> Tensor",
            "f.out",
            "f.out(Tensor self, *, int n, Tensor(a!) out) -> Tensor(a!)",
        ),
        (
            "f() -> (Tensor a, Tensor b)",
            "f.o",
            "f.o(*, Tensor(a!) a, Tensor(b!) b) -> (Tensor(a!) a, Tensor(b!) b)",
        ),
        (
            "f(Tensor x) -> (Tensor a, Tensor b)",
            "f.o(out, indices)",
            "f.o(Tensor x, *, Tensor(a!) out, Tensor(b!) indices) -> (Tensor(a!), Tensor(b!))",
        ),
        (
            "f(Tensor x, int n) -> Tensor[]",
            "f.out",
            "f.out(Tensor x, int n, *, Tensor(a!)[] out) -> ()",
        ),
        (
            "f(Tensor x) -> (Tensor, Tensor)",
            "f.out",
            "f.out(Tensor x, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))",
        ),
    ],
)
def test_out_variants_have_one_written_keyword_per_result(
    tmp_path: Path, functional: str, name: str, expected: str
) -> None:
    out = read(tmp_path, f"- func: {functional}\n  autogen: {name}\n")[1]
    assert out.text == expected
    assert out.variants == ("function",)


def test_the_inplace_variant_of_a_composite_is_a_composite_of_its_own(tmp_path: Path) -> None:
    inplace = read(tmp_path, SINE + "  composite: implicit.sine\n  autogen: sine_\n")[1]
    assert inplace.composite == ("CompositeImplicitAutograd", "sine_")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("- func: f(Tensor self -> Tensor\n", 1, "Invalid function schema"),
        (SINE + "  color: red\n", 2, "leftover entries: color"),
        (SINE + "  shape: elementwise\n  shape: reduce\n", 3, "'shape' appears twice"),
        (SINE + "  variants: function, property\n", 2, "illegal variant 'property'"),
        (
            "- func: f.out(Tensor self, *, Tensor(a!) out) -> "
            "Tensor(a!)\n  variants: function, method\n",
            2,
            "Native functions with out arguments MUST be declared with only function variant",
        ),
        (
            "- func: f(Tensor x) -> Tensor\n  variants: method\n",
            2,
            "a method needs an argument 'self'",
        ),
        (
            SINE + "  python_module: nn\n  variants: method\n",
            3,
            "a python_module excludes the method variant",
        ),
        (SINE + "  tags: [sweet]\n", 2, "illegal tag sweet"),
        (
            SINE + "  composite: implicit.sine\n  refuses: [bool]\n",
            3,
            "a composite refuses no dtypes",
        ),
        (SINE + "  half: double\n", 2, "illegal half 'double'"),
        (SINE + "  composite: implicit.sine\n  half: single\n", 3, "a composite rounds nothing"),
        (
            "- func: f(Tensor x) -> (Tensor, Tensor)\n  autogen: f.out(a, b, c)\n",
            2,
            "it has 2 results, and 3 names are given",
        ),
        (
            "- func: f(Tensor self, Generator? g=None) -> Tensor\n",
            1,
            "nondeterministic_seeded tag missing for f",
        ),
        (SINE + "  composite: sine\n", 2, "illegal composite 'sine'"),
        (SINE + "  autogen: cosine_\n", 2, "'cosine_' cannot be derived"),
        (SINE + SINE, 2, "declared twice; first at native_functions.yaml:1"),
        ("- shape: view\n", 1, "the entry has no 'func'"),
        (SINE + "  derived_from: tangent\n", 1, "'tangent', which is not declared before it"),
        ("func: f\n", 1, "not a list of entries"),
        ("- func: [\n", 2, "not YAML"),
        (SINE + "  shape: elementwise\n  promote: other\n", 3, "no such argument"),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, text: str, line: int, words: str) -> None:
    with pytest.raises(DeclarationError, match=rf"^native_functions\.yaml:{line}: ") as raised:
        read(tmp_path, text)
    assert words in str(raised.value)


def test_a_declaration_error_is_an_assertion_error_as_in_pytorch(tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        read(tmp_path, SINE + "  color: red\n")


PLAIN_VIEW = "- func: flat.x(Tensor(a) self, int dim=0) -> Tensor(a)\n"
LISTED_VIEW = "- func: parts(Tensor(a -> *) self, int n) -> Tensor(a)[]\n"


def test_a_view_derives_the_operator_that_copies_what_it_shows(tmp_path: Path) -> None:
    _, copy, out = read(tmp_path, PLAIN_VIEW + "  autogen: flat_copy.x, flat_copy.x_out\n")
    assert copy.text == "flat_copy.x(Tensor self, int dim=0) -> Tensor"
    assert (copy.copy_of, copy.composite) == (
        "flat.x",
        ("CompositeExplicitAutograd", "flat_copy_x"),
    )
    assert copy.tags == ("pt2_compliant_tag", "view_copy")
    assert out.derived_from == "flat_copy.x"
    assert out.text == "flat_copy.x_out(Tensor self, int dim=0, *, Tensor(a!) out) -> Tensor(a!)"


def test_the_copy_of_a_view_of_several_parts_returns_a_list(tmp_path: Path) -> None:
    _, copy = read(tmp_path, LISTED_VIEW + "  autogen: parts_copy\n")
    assert copy.text == "parts_copy(Tensor self, int n) -> Tensor[]"


def test_what_is_no_view_has_no_copy(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match=r"'sine_copy' cannot be derived .* it is no view"):
        read(tmp_path, SINE + "  autogen: sine_copy\n")
