"""`Function`: its outputs of every kind, what is marked and saved, and the order of checks and
hooks, as in PyTorch.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from same_programs import Programs, assert_same, tried

import dovetail

PROGRAMS = Programs()


def leaf(lib: Any) -> Any:
    return lib.tensor([1.0, 2.0], requires_grad=True)


def function(
    lib: Any, forward: Callable[..., Any], backward: Callable[..., Any], **more: Callable[..., Any]
) -> Any:
    methods = {"forward": forward, "backward": backward, **more}
    members = {name: staticmethod(method) for name, method in methods.items()}
    return type("Made", (lib.autograd.Function,), members)


def forward_ad(lib: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's first dual tensor compiles a script
        with lib.autograd.forward_ad.dual_level():
            lib.autograd.forward_ad.make_dual(lib.ones(1), lib.ones(1))
    return lib.autograd.forward_ad


def plain(values: Any) -> Any:
    return [None if each is None else each.tolist() for each in values]


def described(lib: Any, outputs: Any) -> Any:
    return [
        (each.requires_grad, each.is_leaf, each.output_nr, each._is_view(), each._version)
        if isinstance(each, lib.Tensor)
        else each
        for each in outputs
    ]


@PROGRAMS("outputs that are no tensors have a place among the gradients")
def mixed(lib: Any) -> Any:
    seen: list[Any] = []

    def backward(ctx: Any, *grads: Any) -> Any:
        seen.append(plain(grads))
        return grads[1]

    made = function(lib, lambda ctx, x: (5, x * 2, None, x * 3, "text"), backward)
    x = leaf(lib)
    outputs = made.apply(x)
    node = outputs[1].grad_fn
    node.register_hook(lambda after, before: seen.append((plain(after), plain(before))))
    node.register_prehook(lambda before: seen.append(plain(before)))
    outputs[1].sum().backward()
    return seen, described(lib, outputs), len(node._input_metadata), x.grad.tolist()


@PROGRAMS("outputs that are no tensors, without zeros")
def mixed_undefined(lib: Any) -> Any:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(False)
        return x * 2, 5, x * 3, lib.tensor([1, 2])

    def backward(ctx: Any, *grads: Any) -> Any:
        seen.append(plain(grads))
        return grads[2]

    outputs = function(lib, forward, backward).apply(leaf(lib))
    outputs[2].sum().backward()
    return seen, described(lib, outputs)


@PROGRAMS("an edge to an output that is no tensor")
def edge_to_none(lib: Any) -> Any:
    made = function(lib, lambda ctx, x: (5, x * 2), lambda ctx, *grads: grads[1])
    _, y = made.apply(leaf(lib))
    edges = [lib.autograd.graph.GradientEdge(y.grad_fn, index) for index in range(2)]
    return plain(lib.autograd.grad(y.sum(), edges, allow_unused=True))


@PROGRAMS("methods that are given to a class later")
def given_later(lib: Any) -> Any:
    made = type("Made", (lib.autograd.Function,), {})
    made.forward = staticmethod(lambda x: x * 2)
    made.setup_context = staticmethod(lambda ctx, inputs, output: setattr(ctx, "factor", 3))
    made.backward = staticmethod(lambda ctx, grad: grad * ctx.factor)
    x = leaf(lib)
    type("Derived", (made,), {}).apply(x).sum().backward()
    return x.grad.tolist()


def writing(lib: Any, *more: Any, constant: bool = False) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        x.mul_(2)
        ctx.mark_dirty(x)
        if constant:
            ctx.mark_non_differentiable(x)
        return (x, *more) if more else x

    return function(lib, forward, lambda ctx, grad, *others: grad * 2)


@PROGRAMS("a view that is written beside another output")
def written_view(lib: Any) -> Any:
    x = leaf(lib) * 1
    return tried(lambda: writing(lib, 5).apply(x[:1])), tried(lambda: writing(lib).apply(x[:1]))


@PROGRAMS("a leaf that is written in no_grad mode")
def written_leaf(lib: Any) -> Any:
    x = leaf(lib)
    with lib.no_grad():
        y = writing(lib).apply(x)
    return y is x, described(lib, [x, y]), x.tolist(), y.tolist()


@PROGRAMS("a leaf that is written and constant")
def written_constant(lib: Any) -> Any:
    x = leaf(lib)
    y = writing(lib, constant=True).apply(x)
    return y is x, described(lib, [x, y]), tried(lambda: writing(lib).apply(x))


@PROGRAMS("what is marked as written and is no argument")
def written_result(lib: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        y = x * 3
        y.add_(1)
        ctx.mark_dirty(y)
        return y

    x = leaf(lib)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        y = function(lib, forward, lambda ctx, grad: grad * 3).apply(x * 1)
    y.sum().backward()
    return [str(each.message)[:54] for each in caught], described(lib, [y]), x.grad.tolist()


@PROGRAMS("the tangent of an argument that is written")
def written_tangent(lib: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x.mul_(2)

    def of(jvp: Callable[[Any], Any]) -> Any:
        made = function(lib, forward, lambda ctx, grad: grad * 2, jvp=lambda ctx, grad: jvp(grad))
        with fwad.dual_level():
            dual = fwad.make_dual(lib.ones(2), lib.ones(2))
            out = made.apply(dual)
            return out is dual, fwad.unpack_dual(out).tangent.tolist()

    fwad = forward_ad(lib)
    rules = (lambda grad: grad.mul_(2), lambda grad: grad * 2, lambda grad: grad)
    return [tried(lambda rule=rule: of(rule)) for rule in rules]


@PROGRAMS("tangents of whole numbers are not there")
def whole_tangents(lib: Any) -> Any:
    seen: list[Any] = []

    def jvp(ctx: Any, *tangents: Any) -> Any:
        seen.append(plain(tangents))
        return tangents[0], None

    made = function(lib, lambda ctx, x, y, z: (x * 1, y + 1), lambda ctx, *grads: grads, jvp=jvp)
    fwad = forward_ad(lib)
    with fwad.dual_level():
        dual = fwad.make_dual(lib.ones(2), lib.ones(2))
        outputs = made.apply(dual, lib.tensor([1, 2]), lib.ones(1))
        tangents = [fwad.unpack_dual(each).tangent for each in outputs]
        return seen, plain(tangents)


@PROGRAMS("setup_context gets the defaults of forward")
def default_arguments(lib: Any) -> Any:
    def forward(x: Any, power: int = 3, factor: float = 2.0) -> Any:
        return x**power * factor

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        seen.append(inputs[1:])
        ctx.save_for_backward(inputs[0])

    def backward(ctx: Any, grad: Any) -> Any:
        return grad * ctx.saved_tensors[0], *[None] * (len(seen[-1]))

    def of(*args: Any, **kwargs: Any) -> Any:
        x = leaf(lib)
        y = made.apply(x, *args, **kwargs)
        y.sum().backward()
        return y.tolist(), x.grad.tolist()

    seen: list[Any] = []
    made = function(lib, forward, backward, setup_context=setup_context)
    return of(), of(2), seen


@PROGRAMS("a constant output has no gradient of zeros, if that is asked")
def no_zeros_for_constants(lib: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        y, z = x * 2, x * 3
        ctx.mark_non_differentiable(z)
        ctx._materialize_non_diff_grads = False
        return y, z, x * 4

    def backward(ctx: Any, *grads: Any) -> Any:
        seen.append(plain(grads))
        return grads[0]

    seen: list[Any] = []
    function(lib, forward, backward).apply(leaf(lib))[0].sum().backward()
    return seen


@PROGRAMS("a saved output that is constant")
def saved_constant(lib: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        y, z = x * 2, x * 3
        ctx.mark_non_differentiable(y)
        ctx.save_for_backward(x, y, z)
        return y, z

    def backward(ctx: Any, *grads: Any) -> Any:
        seen.append(described(lib, ctx.saved_tensors))
        return grads[1]

    seen: list[Any] = []
    function(lib, forward, backward).apply(leaf(lib))[1].sum().backward()
    return [[each[:2] for each in values] for values in seen]


@PROGRAMS("gradients are checked before the hooks of the node")
def checked_first(lib: Any) -> Any:
    seen: list[Any] = []
    y = function(lib, lambda ctx, x: x * 2, lambda ctx, grad: grad.sum().reshape(1, 1, 1)).apply(
        leaf(lib)
    )
    y.grad_fn.register_hook(lambda after, before: seen.append("hook"))
    return tried(y.sum().backward), seen


@PROGRAMS("hooks of a node see gradients of the dtype of the input")
def cast_first(lib: Any) -> Any:
    seen: list[Any] = []
    x = leaf(lib)
    y = function(lib, lambda ctx, x: x * 2, lambda ctx, grad: grad.double()).apply(x)
    y.grad_fn.register_hook(lambda after, before: seen.append(str(after[0].dtype)[-7:]))
    y.sum().backward()
    return seen, x.grad.tolist()


REPEATED: dict[str, Any] = {
    "new": lambda x: (x * 2,) * 2,
    "among others": lambda x: (y := x * 2, x * 3, y),
    "the input": lambda x: (x, x),
    "of the input and new": lambda x: (x, y := x * 2, x, y),
    "a view of the input": lambda x: (x.view(-1),) * 2,
}


def results_that_are_one(lib: Any, forward: Any, requires_grad: bool) -> Any:
    made = function(
        lib,
        lambda ctx, x: forward(x),
        lambda ctx, *grads: sum([each for each in grads if each is not None]) * 2,
    )
    x = lib.ones(2, requires_grad=requires_grad)
    results = made.apply(x)
    first = [[each is other for other in results].index(True) for each in results]
    numbers = [each.output_nr for each in results]
    if requires_grad:
        sum([place * each for place, each in enumerate(results, 1)]).sum().backward()
    grad = x.grad.tolist() if requires_grad else None
    return first, numbers, [each is x for each in results], grad


for kind, forward in REPEATED.items():
    for asks in (True, False):
        PROGRAMS[f"a tensor that is returned twice, {kind}, {asks}"] = partial(
            results_that_are_one, forward=forward, requires_grad=asks
        )


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_function_does_the_same(name: str) -> None:
    assert_same(PROGRAMS[name])


def test_a_function_has_tangents_in_inference_mode() -> None:
    double = function(
        dovetail, lambda ctx, x: x * 2, lambda ctx, grad: grad * 2, jvp=lambda ctx, grad: grad * 2
    )
    with dovetail.inference_mode(), dovetail.autograd.forward_ad.dual_level():
        dual = dovetail.autograd.forward_ad.make_dual(dovetail.ones(2), dovetail.ones(2))
        found = dovetail.autograd.forward_ad.unpack_dual(double.apply(dual))
    assert (found.primal.tolist(), found.tangent.tolist()) == ([2, 2], [2, 2])
