"""A tensor of no dimensions stands for a number, unless it requires grad, as in PyTorch."""

from __future__ import annotations

from typing import Any

import pytest
from same_programs import Programs, assert_same

CALLS = {
    "alpha of add": lambda lib, x, a: lib.add(x, x, alpha=a),
    "alpha of add_": lambda lib, x, a: x.clone().add_(x, alpha=a),
    "alpha of sub": lambda lib, x, a: lib.sub(x, x, alpha=a),
    "alpha of rsub": lambda lib, x, a: lib.rsub(x, x, alpha=a),
    "alpha of add into out": lambda lib, x, a: lib.add(x, x, alpha=a, out=lib.empty(3)),
    "alpha of one dimension": lambda lib, x, a: lib.add(x, x, alpha=a.view(1)),
    "complex alpha": lambda lib, x, a: lib.add(x, x, alpha=a.to(lib.complex64)),
    "floating alpha of integers": lambda lib, x, a: lib.add(x.long(), x.long(), alpha=a),
    "integral alpha of integers": lambda lib, x, a: lib.add(x.long(), x.long(), alpha=a.long()),
    "value of addcmul": lambda lib, x, a: lib.addcmul(x, x, x, value=a),
    "value of addcmul_": lambda lib, x, a: x.clone().addcmul_(x, x, value=a),
    "value of addcdiv": lambda lib, x, a: lib.addcdiv(x, x, x, value=a),
    "beta of addmm": lambda lib, x, a: lib.addmm(
        x.view(1, 3), lib.ones(1, 2), lib.ones(2, 3), beta=a
    ),
    "beta and alpha of baddbmm": lambda lib, x, a: lib.baddbmm(
        x.view(1, 1, 3), lib.ones(1, 1, 2), lib.ones(1, 2, 3), beta=a, alpha=a
    ),
    "bounds of histc": lambda lib, x, a: lib.histc(x, 3, min=a * 0, max=a),
    "order of norm": lambda lib, x, a: x.norm(a),
    "order of vector_norm": lambda lib, x, a: lib.linalg.vector_norm(x, a),
    "order of dist": lambda lib, x, a: lib.dist(x, -x, a),
    "order and bound of renorm": lambda lib, x, a: lib.renorm(x.view(1, 3), a, 0, a),
    "slope of leaky_relu": lambda lib, x, a: lib.nn.functional.leaky_relu(-x, a),
    "alpha of elu": lambda lib, x, a: lib.nn.functional.elu(-x, a),
    "beta of softplus": lambda lib, x, a: lib.nn.functional.softplus(x, a),
    "bounds of hardtanh": lambda lib, x, a: lib.nn.functional.hardtanh(3 * x, -a, a),
    "threshold": lambda lib, x, a: lib.nn.functional.threshold(x, a, a),
    "an operator of ops": lambda lib, x, a: lib.ops.aten.add.Tensor(x, x, alpha=a),
}


def shown(lib: Any, call: Any, requires_grad: bool) -> Any:
    number = lib.tensor(2.0, requires_grad=requires_grad)
    return call(lib, lib.tensor([1.0, 2.0, 3.0]), number)


programs = Programs()

for name, call in CALLS.items():
    for requires_grad in (False, True):
        programs(f"{name}, which requires grad" if requires_grad else name)(
            lambda lib, call=call, requires_grad=requires_grad: shown(lib, call, requires_grad)
        )


@pytest.mark.parametrize("name", programs)
def test_a_number_given_as_a_tensor_is_the_number(name: str) -> None:
    assert_same(programs[name], words=0, close=True)
