"""`autograd.functional` against PyTorch's: calls give the same numbers, or the same type of error
in its words.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.autograd.functional as torch_functional

import dovetail
from dovetail.autograd import functional

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")

CASES = {
    "vjp": "vjp(lambda x:x*2,x,v)",
    "vjp scalar": "vjp(sc,x)",
    "vjp without v": "vjp(lambda x:x*2,x)",
    "vjp size of v": "vjp(lambda x:x*2,x,torch.ones(4))",
    "vjp type of v": "vjp(lambda x:x*2,x,3.)",
    "vjp length of v": "vjp(lambda x:x*2,x,(v,v))",
    "vjp type of inputs": "vjp(lambda x:x*2,3.)",
    "vjp type of an input": "vjp(lambda x:x*2,(x,3.))",
    "vjp list of inputs": "vjp(lambda x:x*2,[x],[v])",
    "vjp type of outputs": "vjp(lambda x:3.,x,v)",
    "vjp two": "vjp(lambda a,b:(a*b,a),(x,x),(v,v))",
    "vjp independent": "vjp(lambda a:torch.ones(3),x,v)",
    "vjp strict": "vjp(lambda a:torch.ones(3),x,v,strict=True)",
    "vjp strict input": "vjp(lambda a,b:a*2,(x,x),v,strict=True)",
    "vjp strict create_graph": "vjp(lambda "
    "a:a*2,x.clone().requires_grad_(),v,strict=True,create_graph=True)",
    "vjp create_graph": "vjp(lambda a:a**2,x.clone().requires_grad_(),v,create_graph=True)",
    "vjp of what requires grad": "vjp(lambda a:a**2,x.clone().requires_grad_(),v)",
    "jvp": "jvp(lambda x:x**2,x,v)",
    "jvp one": "jvp(lambda x:x**2,torch.ones(1))",
    "jvp without v": "jvp(lambda x:x**2,x)",
    "jvp size of v": "jvp(lambda x:x*2,x,torch.ones(4))",
    "jvp strict": "jvp(lambda a:torch.ones(3),x,v,strict=True)",
    "jvp create_graph": "jvp(lambda a:a**2,x.clone().requires_grad_(),v,create_graph=True)",
    "jvp linear": "jvp(lambda a:a*2,x,v)",
    "jvp linear strict": "jvp(lambda a:a*2,x,v,strict=True)",
    "jvp linear strict create_graph": "jvp(lambda a:a*2,x,v,strict=True,create_graph=True)",
    "jvp independent": "jvp(lambda a:torch.ones(3),x,v)",
    "jacobian": "jacobian(lambda x:x**2,x)",
    "jacobian two": "jacobian(lambda a,b:(a*b,b.sum()),(x,x))",
    "jacobian strict": "jacobian(lambda a:torch.ones(2),x,strict=True)",
    "jacobian strict input": "jacobian(lambda a,b:a*2,(x,x),strict=True)",
    "jacobian strict create_graph": "jacobian(lambda a:a*2,x,strict=True,create_graph=True)",
    "jacobian vectorize": "jacobian(lambda x:x**2,x,vectorize=True)",
    "jacobian vectorize recorded": (
        "jacobian(sc,x.clone().requires_grad_(),vectorize=True,create_graph=True)"
    ),
    "jacobian vectorize strict": "jacobian(lambda x:x**2,x,vectorize=True,strict=True)",
    "jacobian forward": 'jacobian(lambda x:x**2,x,strategy="forward-mode",vectorize=True)',
    "jacobian forward alone": 'jacobian(lambda x:x**2,x,strategy="forward-mode")',
    "jacobian forward strict": "jacobian(lambda "
    'x:x**2,x,strategy="forward-mode",vectorize=True,strict=True)',
    "jacobian forward create_graph": (
        'jacobian(sc,x,strategy="forward-mode",vectorize=True,create_graph=True)'
    ),
    "jacobian strategy": 'jacobian(lambda x:x**2,x,strategy="foo")',
    "jacobian independent": "jacobian(lambda a,b:(a*2,torch.ones(2)),(x,x))",
    "jacobian create_graph": "jacobian(lambda x:x**2,x.clone().requires_grad_(),create_graph=True)",
    "jacobian type of inputs": "jacobian(lambda x:x**2,3.)",
    "jacobian type of outputs": "jacobian(lambda x:3.,x)",
    "jacobian of a number": "jacobian(lambda x:x**2,torch.tensor(2.))",
    "jacobian in place": "jacobian(lambda x:x.mul_(2),x)",
    "jacobian of integers": "jacobian(lambda x:x*2.,torch.ones(2,dtype=torch.long))",
    "jacobian of complex numbers": "jacobian(lambda x:x*x,torch.tensor([1+2j]))",
    "hessian": "hessian(sc,x)",
    "hessian of several numbers": "hessian(lambda x:x**2,x)",
    "hessian of a tuple": "hessian(lambda x:(sc(x),sc(x)),x)",
    "hessian two": "hessian(lambda a,b:(a**2*b).sum(),(x,x))",
    "hessian vectorize": "hessian(sc,x,vectorize=True)",
    "hessian forward alone": 'hessian(sc,x,outer_jacobian_strategy="forward-mode")',
    "hessian strategy": 'hessian(sc,x,outer_jacobian_strategy="foo")',
    "hessian strict": "hessian(lambda x:x.sum(),x,strict=True)",
    "hessian strict independent": "hessian(lambda x:torch.tensor(1.),x,strict=True)",
    "hessian linear": "hessian(lambda x:x.sum(),x)",
    "hessian of one element": "hessian(lambda x:(x**2).sum().reshape(1),x)",
    "hessian type of outputs": "hessian(lambda x:3.,x)",
    "vhp": "vhp(sc,x,v)",
    "hvp": "hvp(sc,x,v)",
    "hvp one": "hvp(sc,torch.ones(1))",
    "hvp without v": "hvp(sc,x)",
    "vhp without v": "vhp(sc,x)",
    "hvp of several numbers": "hvp(lambda x:x**2,x,v)",
    "vhp of several numbers": "vhp(lambda x:x**2,x,v)",
    "vhp of a tuple": "vhp(lambda x:(sc(x),sc(x)),x,v)",
    "hvp linear": "hvp(lambda x:x.sum(),x,v)",
    "vhp linear": "vhp(lambda x:x.sum(),x,v)",
    "hvp strict": "hvp(lambda x:x.sum(),x,v,strict=True)",
    "vhp strict": "vhp(lambda x:x.sum(),x,v,strict=True)",
    "hvp strict independent": "hvp(lambda x:torch.tensor(1.),x,v,strict=True)",
    "hvp strict square": "hvp(lambda x:(x**2).sum(),x,v,strict=True)",
    "hvp two": "hvp(lambda a,b:(a**2*b).sum(),(x,x),(v,v))",
    "vhp two": "vhp(lambda a,b:(a**2*b).sum(),(x,x),(v,v))",
    "hvp create_graph": "hvp(sc,x.clone().requires_grad_(),v,create_graph=True)",
    "vhp create_graph": "vhp(sc,x.clone().requires_grad_(),v,create_graph=True)",
}
"""Calls by name: `x` and `v` are three ones, `sc` a cubic scalar function."""


def outcome(m: Any, f: Any, text: str) -> Any:
    """Return what a call gives with the library `m`, whose `autograd.functional` is `f`: numbers,
    or the error.
    """
    names = {name: getattr(f, name) for name in ("vjp", "jvp", "jacobian", "hessian", "hvp", "vhp")}
    names |= {"torch": m, "x": m.ones(3), "v": m.ones(3), "sc": lambda x: (x**3).sum()}
    try:
        return described(eval(text, names))  # the names have to be global for the lambdas
    except Exception as error:
        return error


def described(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple([described(each) for each in value])
    return value.detach().cpu().numpy().tolist(), value.requires_grad


@pytest.mark.parametrize("name", CASES)
def test_a_call_gives_what_it_gives_in_torch(name: str) -> None:
    expected = outcome(torch, torch_functional, CASES[name])
    found = outcome(dovetail, functional, CASES[name])
    if not isinstance(expected, Exception):
        assert found == expected
        return
    assert type(found) is type(expected), found
    words = (
        str(expected)
        .replace("torch", "dovetail")
        .replace("isonly", "is only")
        .splitlines()[0]
        .rstrip(".")
    )
    assert words in str(found).replace("torch", "dovetail")


@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
@pytest.mark.parametrize("vectorize", [True, False])
def test_jacobians_of_several_inputs_and_outputs(strategy: str, vectorize: bool) -> None:
    if strategy == "forward-mode" and not vectorize:
        pytest.skip("not implemented, as in PyTorch")
    x, y = np.linspace(-1, 1, 6).reshape(2, 3), np.linspace(0.5, 2, 3)

    def run(m: Any, f: Any) -> Any:
        return f.jacobian(
            lambda a, b: (m.tanh(a * b), (a @ b).exp()),
            (m.tensor(x), m.tensor(y)),
            vectorize=vectorize,
            strategy=strategy,
        )

    found, expected = run(dovetail, functional), run(torch, torch_functional)
    for ours, theirs in zip(found, expected, strict=True):
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one.cpu().numpy(), other.cpu().numpy(), rtol=1e-10)


@pytest.mark.parametrize("outer", ["reverse-mode", "forward-mode"])
def test_hessians_of_several_inputs(outer: str) -> None:
    x, y = np.linspace(-1, 1, 6).reshape(2, 3), np.linspace(0.5, 2, 3)

    def run(m: Any, f: Any) -> Any:
        return f.hessian(
            lambda a, b: (m.tanh(a * b) * b).sum(),
            (m.tensor(x), m.tensor(y)),
            vectorize=True,
            outer_jacobian_strategy=outer,
        )

    found, expected = run(dovetail, functional), run(torch, torch_functional)
    for ours, theirs in zip(found, expected, strict=True):
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(
                one.detach().cpu().numpy(), other.detach().cpu().numpy(), rtol=1e-8, atol=1e-12
            )
