"""Derivatives are read in PyTorch's notation; formulas become calls on a namespace, and what they
read is saved.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dovetail_aten.codegen import (
    Derivative,
    DerivativeError,
    read_derivatives,
    read_native_functions,
)

OPERATORS = """
- func: mul(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  autogen: mul_
- func: conj(Tensor self) -> Tensor
- func: neg(Tensor self) -> Tensor
- func: exp(Tensor self) -> Tensor
- func: expand(Tensor self, int[] size) -> Tensor
- func: rsub(Tensor self, Scalar other) -> Tensor
- func: reciprocal(Tensor self) -> Tensor
- func: eq(Tensor self, Scalar other) -> Tensor
- func: log1p(Tensor self) -> Tensor
- func: log1p.second(Tensor self, int n) -> Tensor
- func: loss_forward(Tensor self, Tensor? weight) -> (Tensor output, Tensor total)
- func: pair(Tensor self) -> (Tensor, Tensor)
- func: split(Tensor self, int dim) -> Tensor[]
- func: cat(Tensor[] tensors, int dim) -> Tensor
- func: mul.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
- func: masked(Tensor self, Tensor grad_input_mask) -> Tensor
"""
MUL = "- name: mul(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n"
EXP = "- name: exp(Tensor self) -> Tensor\n"


def read(folder: Path, text: str, **options: Any) -> list[Derivative]:
    operators = folder / "native_functions.yaml"
    operators.write_text(OPERATORS, encoding="utf-8")
    path = folder / "derivatives.yaml"
    path.write_text(text, encoding="utf-8")
    return read_derivatives(
        path, read_native_functions(operators), helpers={"help_backward"}, **options
    )


def rewritten(folder: Path, formula: str, head: str = EXP, key: str = "self") -> str:
    (derivative,) = read(folder, f"{head}  {key}: '{formula}'\n")
    return derivative.formulas[0].rewritten.text


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("grad * result.conj()", "k.mul(grad, k.conj(result))"),
        ("-grad", "k.neg(grad)"),
        ("2 * grad", "k.mul(grad, 2)"),
        ("1 - result", "k.rsub(result, 1)"),
        ("1 / self", "k.mul(k.reciprocal(self), 1)"),
        ("self == 0", "k.eq(self, 0)"),
        ("grad.expand(self.sym_sizes())", "k.expand(grad, self_sym_sizes)"),
        ("grad.expand(grad.sym_sizes())", "k.expand(grad, grad.shape)"),
        ("help_backward(grad, self.dim() - 1)", "help_backward(k, grad, self_dim - 1)"),
        ("grad if result.defined() else self", "grad if result is not None else self"),
    ],
)
def test_formulas_become_calls_on_the_namespace(
    tmp_path: Path, formula: str, expected: str
) -> None:
    assert rewritten(tmp_path, formula) == expected


def test_maybe_multiply_is_written_out(tmp_path: Path) -> None:
    text = rewritten(tmp_path, "maybe_multiply(grad, alpha.conj())", MUL)
    assert text == "grad if alpha == 1 else k.mul(grad, alpha.conjugate())"


def test_what_a_formula_names_is_saved_for_the_inputs_that_need_it(tmp_path: Path) -> None:
    (mul,) = read(tmp_path, MUL + "  self: grad * other\n  other: grad * self * alpha\n")
    saved = [(value.name, value.kind, value.needed_by) for value in mul.saved]
    assert saved == [
        ("self", "input", ("other",)),
        ("other", "input", ("self",)),
        ("alpha", "value", ("other",)),
    ]


def test_metadata_is_saved_instead_of_the_tensor(tmp_path: Path) -> None:
    (exp,) = read(tmp_path, EXP + "  self: grad.expand(self.sym_sizes())\n")
    assert [(v.name, v.kind, v.expression) for v in exp.saved] == [
        ("self_sym_sizes", "value", "self.array.shape")
    ]


def test_results_are_saved_as_results(tmp_path: Path) -> None:
    (exp,) = read(tmp_path, EXP + "  self: grad * result\n")
    assert [(v.name, v.kind) for v in exp.saved] == [("result", "result")]


def test_named_results_know_which_output_they_are(tmp_path: Path) -> None:
    name = "- name: loss_forward(Tensor self, Tensor? weight) -> (Tensor output, Tensor total)\n"
    (loss,) = read(tmp_path, name + "  self: grad * total * weight\n")
    assert [(v.name, v.kind, v.output, v.optional) for v in loss.saved] == [
        ("weight", "input", 0, True),
        ("total", "result", 1, False),
    ]


def test_a_plain_grad_of_several_outputs_makes_the_first_differentiable(tmp_path: Path) -> None:
    (pair,) = read(tmp_path, "- name: pair(Tensor self) -> (Tensor, Tensor)\n  self: grad\n")
    assert pair.output_differentiability == (True, False)


def test_node_names_are_pytorchs(tmp_path: Path) -> None:
    text = (
        "- name: log1p(Tensor self) -> Tensor\n  self: grad\n"
        "- name: log1p.second(Tensor self, int n) -> Tensor\n  self: grad\n"
        "- name: loss_forward(Tensor self, Tensor? weight) -> (Tensor output, Tensor total)\n  "
        "self: grad\n"
    )
    assert [d.node for d in read(tmp_path, text)] == [
        "Log1PBackward0",
        "Log1PBackward1",
        "LossBackward0",
    ]


def test_an_entry_may_name_its_node(tmp_path: Path) -> None:
    (exp,) = read(tmp_path, EXP + "  node: ExpBackward3\n  self: grad\n")
    assert exp.node == "ExpBackward3"


def test_an_elementwise_forward_formula_is_that_of_the_input(tmp_path: Path) -> None:
    (exp,) = read(tmp_path, EXP + "  self: grad * result\n  result: auto_element_wise\n")
    (forward,) = exp.forward
    assert (forward.output, forward.kind) == (0, "elementwise")
    assert forward.rewritten is not None and forward.rewritten.text == "k.mul(grad, result)"


def test_a_linear_forward_formula_is_the_operator_itself(tmp_path: Path) -> None:
    (exp,) = read(tmp_path, EXP + "  self: grad\n  result: auto_linear\n")
    assert [(f.kind, f.rewritten) for f in exp.forward] == [("linear", None)]


def test_a_forward_formula_is_an_expression_in_primals_and_tangents(tmp_path: Path) -> None:
    (mul,) = read(
        tmp_path,
        MUL + "  self: grad\n  other: grad\n  result: self_t * other_p + other_t * alpha\n",
    )
    (forward,) = mul.forward
    assert forward.kind == "expression"
    assert forward.rewritten is not None and list(forward.rewritten.saved) == [
        "self_t",
        "other_p",
        "other_t",
        "alpha",
    ]


def test_an_elementwise_forward_formula_needs_the_formula_of_one_input(tmp_path: Path) -> None:
    with pytest.raises(
        DerivativeError, match="auto_element_wise without the formula of exactly one input"
    ):
        read(tmp_path, MUL + "  self: grad\n  other: grad\n  result: auto_element_wise\n")


def test_a_forward_formula_cannot_read_gradients(tmp_path: Path) -> None:
    with pytest.raises(DerivativeError, match="unknown name 'grad'"):
        read(tmp_path, EXP + "  self: grad\n  result: self_t * grad\n")


def test_a_list_input_is_marked(tmp_path: Path) -> None:
    (cat,) = read(
        tmp_path,
        "- name: cat(Tensor[] tensors, int dim) -> Tensor\n  tensors: help_backward(grad, "
        "to_args_sizes(tensors))\n",
    )
    assert cat.list_inputs == ("tensors",)
    assert cat.saved[0].expression == "[tensor.array.shape for tensor in tensors]"


def test_a_tensor_without_a_line_must_not_require_grad_unless_it_is_marked(tmp_path: Path) -> None:
    (mul,) = read(tmp_path, MUL + "  self: grad\n")
    assert mul.refused == ("other",)
    (mul,) = read(tmp_path, MUL + "  self: grad\n  other: non_differentiable\n")
    assert mul.refused == ()
    (mul,) = read(tmp_path, MUL + "  output_differentiability: [false]\n")
    assert mul.refused == ()


def test_helpers_for_tensors_only_leave_no_array_body(tmp_path: Path) -> None:
    (exp,) = read(tmp_path, EXP + "  self: help_backward(grad)\n", tensors_only={"help_backward"})
    assert not exp.has_array_body


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "- name: sqrt(Tensor self) -> Tensor\n",
            "could not find ATen function for schema: sqrt(Tensor self)",
        ),
        (
            "- name: exp(Tensor self, int n) -> Tensor\n",
            "Available signatures:\n  exp(Tensor self) -> Tensor",
        ),
        ("- name: mul.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n", "never differentiable"),
        ("- self: grad\n", "the entry has no 'name'"),
        (EXP + "  self: grad * grads[0]\n", "illegally mixes use of 'grad' and 'grads'"),
        (EXP + "  self: grads[0]\n", "solely refers to 'grads[0]'"),
        (
            "- name: pair(Tensor self) -> (Tensor, Tensor)\n  self: grads[0] * grads[2]\n",
            "Out of bounds grads access",
        ),
        (
            "- name: masked(Tensor self, Tensor grad_input_mask) -> Tensor\n  self: grad\n",
            "has an argument named grad_input_mask",
        ),
        (
            EXP + "  self: grad * self.sizes()\n",
            ".sizes() is not supported in derivative formulas. Instead, please use the SymInt "
            "version",
        ),
        (EXP + "  self: grad\n  other: grad\n", "'other' is no argument or result"),
        (MUL + "  alpha: grad\n", "argument 'alpha' is not a tensor"),
        (
            MUL + "  self, other: help_backward(grad)\n  other: non_differentiable\n",
            "overlapped non_differentiable and differentiable variables",
        ),
        (EXP + "  self: 'grad ? self : result'\n", "is not an expression"),
        (EXP + "  self: grad * fancy\n", "unknown name 'fancy'"),
        (EXP + "  self: fancy(grad)\n", "unknown function 'fancy'"),
        (EXP + "  self: grad.fancy()\n", "unknown method '.fancy()'"),
        (EXP + "  self: grad.shape\n", "attribute '.shape' of a tensor"),
        (
            EXP + "  self: help_backward(grad, grad_input_mask)\n",
            "grad_input_mask stands in the formula of one input",
        ),
        (
            EXP + "  output_differentiability: maybe\n",
            "output_differentiability must either be list[bool]",
        ),
        (EXP + "  output_differentiability: [true, false]\n", "2 entries for 1 results"),
        (EXP + "  self: grad\n" + EXP + "  self: grad\n", "has two entries"),
    ],
)
def test_a_mistake_is_named_with_its_file_and_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(DerivativeError, match=r"^derivatives\.yaml:\d+: ") as raised:
        read(tmp_path, text)
    assert words in str(raised.value)


def test_a_derivative_error_is_a_runtime_error_as_in_pytorch(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError):
        read(tmp_path, EXP + "  self: fancy(grad)\n")
