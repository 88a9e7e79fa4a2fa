"""The closure of a list of operators: overloads and variants of each, and what its composite and
its derivative call.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import dovetail_aten.codegen as codegen
from dovetail_aten.codegen import DeclarationError, Selection

DECLARATIONS = """
- func: vision::brighten(Tensor self) -> Tensor
  autogen: brighten_, brighten.out
- func: vision::brighten.by(Tensor self, Scalar amount) -> Tensor
- func: vision::darken(Tensor self) -> Tensor
- func: vision::dim(Tensor self) -> Tensor
  composite: implicit.dim
- func: vision::fade(Tensor self) -> Tensor
  composite: implicit.fade
- func: vision::blur(Tensor self) -> Tensor
- func: vision::blur_backward(Tensor grad) -> Tensor
"""
DERIVATIVES = """
- name: vision::blur(Tensor self) -> Tensor
  self: smear(blur_backward(grad), grad)
"""
COMPOSITES = """
from vision._generated import functions as F
from vision.composites.shared import twice

def dim(self: F.annotated) -> F.annotated:
    return twice(self)

fade = dim
"""
SHARED = """
from .._generated import functions as operators

def twice(x):
    return operators.darken(operators.darken(x))
"""
HELPERS = """
def smear(k, grad, other):
    return [k.brighten(each) for each in (grad, other)]
"""


@pytest.fixture
def library(tmp_path: Path) -> codegen.Library:
    folder = tmp_path / "vision"
    for name, text in {
        "native_functions.yaml": DECLARATIONS,
        "derivatives.yaml": DERIVATIVES,
        "derivative_helpers.py": HELPERS,
        "composites/tone.py": COMPOSITES,
        "composites/shared.py": SHARED,
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return codegen.Library.of_folder(folder)


@pytest.mark.parametrize(
    ("listed", "included"),
    [
        ("darken", ["darken"]),
        ("brighten", ["brighten", "brighten_", "brighten.out", "brighten.by"]),
        ("brighten_", ["brighten", "brighten_", "brighten.out", "brighten.by"]),
        ("brighten.by", ["brighten", "brighten_", "brighten.out", "brighten.by"]),
        ("dim", ["darken", "dim"]),
        ("fade", ["darken", "fade"]),
        ("blur", ["brighten", "brighten_", "brighten.out", "brighten.by", "blur", "blur_backward"]),
    ],
)
def test_a_listed_operator_brings_its_variants_and_what_it_calls(
    library: codegen.Library, listed: str, included: list[str]
) -> None:
    # Without what the engine of autograd calls in the base library, of which there is nothing here.
    build = codegen.read_build(library, Selection("ops.yaml", (listed,)))
    assert [function.name for function in build.included] == included


def test_without_autograd_nothing_is_needed_for_derivatives(library: codegen.Library) -> None:
    build = codegen.read_build(library, Selection("ops.yaml", ("blur",), autograd=False))
    assert [function.name for function in build.included] == ["blur"]
    assert build.derivatives == []


def test_reasons_name_composite_formula_and_helper(library: codegen.Library) -> None:
    build = codegen.read_build(library, Selection("ops.yaml", ("dim", "blur")))
    assert {group: (need.by, need.through) for group, need in build.reasons.items()} == {
        "dim": ("", "listed"),
        "blur": ("", "listed"),
        "darken": ("dim", "composite composites/tone.py:dim"),
        "blur_backward": ("blur", "derivative derivatives.yaml:2"),
        "brighten": ("blur", "derivative derivative_helpers.py:smear"),
    }


def test_every_operator_that_cannot_be_left_out_is_named_with_the_chain(
    library: codegen.Library,
) -> None:
    selection = Selection("ops.yaml", ("fade", "blur"), ("blur_backward", "darken", "dim"))
    with pytest.raises(DeclarationError) as raised:
        codegen.read_build(library, selection)
    assert str(raised.value) == (
        "ops.yaml:1: blur_backward, darken cannot be left out:\n"
        "  blur_backward: blur, whose derivative derivatives.yaml:2 needs blur_backward\n"
        "  darken: fade, whose composite composites/tone.py:fade needs darken\n"
        " Take them out of 'without', or leave out what needs them."
    )


def test_the_whole_library_has_no_trace_of_a_selection(library: codegen.Library) -> None:
    assert "left_out" not in "".join(codegen.generate(library).values())
