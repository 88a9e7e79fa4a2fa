"""The grad mode in which kernels run when a call is recorded, and what NumPy may read then, as in
PyTorch.
"""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np
import pytest
from same_programs import Programs, assert_same, tried

import dovetail

NUMBERS = count()
PROGRAMS = Programs()


class Seen(list[tuple[bool, bool]]):
    """Per call of a kernel whether grad mode was on, and whether its argument required grad."""

    def __init__(self, lib: Any) -> None:
        super().__init__()
        self.lib = lib
        self.name = f"kernel_modes_{next(NUMBERS)}::f"

    def note(self, x: Any) -> None:
        self.append((self.lib.is_grad_enabled(), x.requires_grad))

    def sine(self, x: Any, *others: Any) -> Any:
        self.note(x)
        return self.lib.from_numpy(np.sin((x if not self[-1][0] else x.detach()).numpy()))

    def call(self, op: Any, *others: Any) -> Seen:
        x = self.lib.ones(2, requires_grad=True)
        for argument in (x, x.detach(), (x * 2)[1:], x.detach()[1:]):
            op(argument, *others)
        with self.lib.no_grad():
            op(x, *others)
        with self.lib.inference_mode():
            op(x, *others)
        return self


def custom_op(lib: Any, schema: str = "(Tensor x) -> Tensor", derivative: bool = True) -> Any:
    seen = Seen(lib)
    op = lib.library.custom_op(seen.name, seen.sine, mutates_args=(), schema=schema)
    if derivative:
        op.register_autograd(lambda ctx, grad: (grad, *[None] * schema.count(",")))
    return seen, op


@PROGRAMS("a custom op with a derivative")
def with_derivative(lib: Any) -> Any:
    seen, op = custom_op(lib)
    return seen.call(op)


@PROGRAMS("a custom op without derivative")
def without_derivative(lib: Any) -> Any:
    seen, op = custom_op(lib, derivative=False)
    return seen.call(op)


@PROGRAMS("a custom op that takes a list and an optional tensor")
def with_list(lib: Any) -> Any:
    seen, op = custom_op(lib, "(Tensor x, Tensor[] ys, Tensor? z=None) -> Tensor")
    return seen.call(op, [lib.ones(2)])


@PROGRAMS("only a tensor of a list requires grad")
def in_list(lib: Any) -> Any:
    seen, op = custom_op(lib, "(Tensor x, Tensor[] ys, Tensor? z=None) -> Tensor")
    op(lib.ones(2), [lib.ones(2), lib.ones(2, requires_grad=True)])
    op(lib.ones(2), [lib.ones(2)], lib.ones(2, requires_grad=True))
    return seen


@PROGRAMS("a custom op that writes to its argument")
def writing(lib: Any) -> Any:
    seen = Seen(lib)

    def write(x: Any) -> None:
        seen.note(x)
        (x.detach() if seen[-1][0] else x).numpy()[0] = 5

    op = lib.library.custom_op(seen.name, write, mutates_args=("x",), schema="(Tensor(a!) x) -> ()")
    x = lib.ones(2, requires_grad=True)
    y = x * 1
    for argument in (x, y, y[1:], lib.ones(2), lib.ones(2)[1:]):
        op(argument)
    return list(seen), x.tolist(), y.tolist()


@PROGRAMS("an operator of a library, before and after it is given a derivative")
def defined(lib: Any) -> Any:
    seen = Seen(lib)
    lib.library.define(seen.name, "(Tensor x) -> Tensor")
    lib.library.impl(seen.name, "cpu")(seen.sine)
    namespace, name = seen.name.split("::")
    op = getattr(getattr(lib.ops, namespace), name)
    seen.call(op)
    lib.library.register_autograd(seen.name, lambda ctx, grad: grad)
    return seen.call(op)


@PROGRAMS("the modes in which numpy may read a tensor that requires grad")
def numpy_reads(lib: Any) -> Any:
    x = lib.ones(2, requires_grad=True)
    outcomes = []
    for mode in (lib.enable_grad, lib.no_grad, lib.inference_mode):
        for tensor in (x, x * 2, (x * 2)[1:]):
            with mode():
                outcomes += [
                    tried(tensor.numpy),
                    tried(lambda tensor=tensor: np.asarray(tensor)),
                    tried(lambda tensor=tensor: tensor.numpy(force=True)),
                    tried(lambda tensor=tensor: type(tensor.__dlpack__()).__name__),
                ]
    return outcomes


@pytest.mark.cpu_only(reason="the kernels read their arguments with NumPy")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_kernel_runs_in_the_grad_mode_of_pytorch(name: str) -> None:
    assert_same(PROGRAMS[name])


@pytest.mark.cpu_only(reason="the kernels read their arguments with NumPy")
def test_the_kernel_of_a_recorded_call_may_read_its_arguments_with_numpy() -> None:
    seen = Seen(dovetail)

    def sine(x: Any) -> Any:
        return dovetail.from_numpy(np.sin(x.numpy()))

    op = dovetail.library.custom_op(seen.name, sine, mutates_args=(), schema="(Tensor x) -> Tensor")
    op.register_autograd(
        lambda ctx, grad: grad * ctx.x.cos(),
        setup_context=lambda ctx, inputs, output: setattr(ctx, "x", inputs[0]),
    )
    x = dovetail.tensor([0.5, 1.0], requires_grad=True)
    op(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.cos([0.5, 1.0]), rtol=1e-6)
    assert dovetail.is_grad_enabled()
