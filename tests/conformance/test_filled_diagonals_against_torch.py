"""Diagonals that are filled, gradients through them, and tensors converted to old types."""

from __future__ import annotations

from typing import Any

import pytest

import dovetail

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")


def filled(lib: Any, shape: tuple[int, ...], wrap: bool, transposed: bool) -> Any:
    leaf = lib.arange(1.0, 1 + lib.Size(shape).numel()).reshape(shape).requires_grad_()
    x = leaf * 2
    if transposed:
        x = x.transpose(0, 1)
    assert x.fill_diagonal_(-1.0, wrap=wrap) is x
    (x * x).sum().backward()
    return x.tolist(), leaf.grad.tolist()


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("wrap", [False, True])
@pytest.mark.parametrize("shape", [(3, 3), (2, 5), (5, 2), (9, 2), (8, 3), (7, 1), (3, 3, 3)])
def test_a_filled_diagonal_and_its_gradient_are_pytorchs(
    shape: tuple[int, ...], wrap: bool, transposed: bool
) -> None:
    assert filled(dovetail, shape, wrap, transposed) == filled(torch, shape, wrap, transposed)


TYPES: dict[str, Any] = {
    "Tensor": lambda lib: lib.Tensor,
    "DoubleTensor": lambda lib: lib.DoubleTensor,
    "HalfTensor": lambda lib: lib.HalfTensor,
    "dtype": lambda lib: lib.int8,
}


@pytest.mark.cpu_only(reason="the types of old are those of the CPU")
@pytest.mark.parametrize("name", TYPES)
def test_a_tensor_is_converted_to_what_a_type_of_old_makes(name: str) -> None:
    ours, theirs = (lib.tensor([1, 2]).type(TYPES[name](lib)) for lib in (dovetail, torch))
    assert str(ours).replace("dovetail.", "torch.") == str(theirs)


@pytest.mark.cpu_only(reason="about tensors of the CPU")
def test_no_tensor_of_the_cpu_is_one_of_the_types_of_cuda() -> None:
    x = dovetail.ones(2)
    assert isinstance(x, dovetail.FloatTensor)
    assert not isinstance(x, dovetail.cuda.FloatTensor)
