"""The entrances of the engine, each called as PyTorch calls it: `run_backward`, nodes, what code
inside of a backward asks, and what dispatch modes see of it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
from same_programs import Programs, assert_same, tried

import dovetail

PROGRAMS = Programs()


def leaf(lib: Any) -> Any:
    return lib.ones(2, requires_grad=True)


def name(node: Any) -> Any:
    """Return the name of a node without the namespace."""
    return None if node is None else node.name().rpartition(":")[2]


def listed(values: Any) -> Any:
    """Return gradients as lists."""
    if isinstance(values, tuple):
        return tuple(listed(each) for each in values)
    return values.tolist() if hasattr(values, "tolist") else values


def kind(function: Callable[[], Any]) -> Any:
    """Return what a call gives, or the type of its error."""
    try:
        return listed(function())
    except Exception as error:
        return type(error).__name__


# -- run_backward ----------------------------------------------------------------------------------


@PROGRAMS("run_backward adds to leaves, or returns gradients")
def run_backward(lib: Any) -> Any:
    run = lib.autograd.Variable._execution_engine.run_backward
    x, one = leaf(lib), lib.tensor(1.0)
    y = x * 2
    loss = y.sum()
    found = [
        run((loss,), (one,), True, False, (), allow_unreachable=True, accumulate_grad=True),
        listed(x.grad),
        listed(run((loss,), (one,), True, False, (x,), accumulate_grad=False)),
        listed(run((loss,), (one,), True, False, (x, y))),
        run((loss,), (one,), True, False, (y,), True, True),
        listed(y.grad),
        listed(x.grad),
        listed(run((y, loss), (lib.ones(2), one), True, False, (x,))),
    ]
    (recorded,) = run((y * y,), (lib.ones(2),), True, True, (x,))
    return found, recorded.requires_grad


@PROGRAMS("run_backward by keywords and with edges")
def run_backward_by_keywords(lib: Any) -> Any:
    run = lib.autograd.Variable._execution_engine.run_backward
    edge = lib.autograd.graph.get_gradient_edge
    x, one = leaf(lib), lib.tensor(1.0)
    loss = (x * 2).sum()
    return (
        listed(
            run(
                tensors=(edge(loss),),
                grad_tensors=(one,),
                keep_graph=True,
                create_graph=False,
                inputs=(edge(x),),
                allow_unreachable=False,
                accumulate_grad=False,
            )
        ),
        kind(lambda: run(tensors=(loss,), grad_tensors=(one,), retain_graph=True)),
    )


@PROGRAMS("run_backward refuses")
def run_backward_refuses(lib: Any) -> Any:
    run = lib.autograd.Variable._execution_engine.run_backward
    x, other, one = leaf(lib), leaf(lib), lib.tensor(1.0)
    loss = (x * 2).sum()
    calls: list[tuple[Any, ...]] = [
        ((loss,), (None,), True, False, (x,)),
        ([loss], (one,), True, False, (x,)),
        (loss, (one,), True, False, (x,)),
        ((loss,), [one], True, False, (x,)),
        ((loss,), (), True, False, (x,)),
        ((loss,), (one,), True, False, (x, other)),
        ((loss,), (one,), True, False, (x, other), True),
        ((loss,), (one,), True, False, (x, other), False, True),
        ((loss,), (one,), True, False, [x]),
        ((loss,), (one,), True, False, x),
        ((loss,), (one,), True, False, (lib.ones(1),)),
        ((loss,), (one,), True, False, (3,)),
        ((3,), (one,), True, False, (x,)),
        ((loss,), (3,), True, False, (x,)),
        ((lib.ones(1),), (lib.ones(1),), True, False, (), True, True),
    ]
    return [tried(lambda call=call: listed(run(*call)), words=29) for call in calls]


@PROGRAMS("run_backward refuses, by type")
def run_backward_refuses_by_type(lib: Any) -> Any:
    run = lib.autograd.Variable._execution_engine.run_backward
    x, one = leaf(lib), lib.tensor(1.0)
    loss = (x * 2).sum()
    return (
        kind(lambda: run((loss,), (one,), True, False)),
        kind(lambda: run((loss,), (lib.ones(3),), True, False, (), True, True)),
        kind(lambda: run((loss, loss), (one, None), True, False, (x,))),
        listed(x.grad),
    )


@PROGRAMS("what has no graph is named before its shape")
def no_graph(lib: Any) -> Any:
    return [
        tried(lambda tensor=tensor: tensor.backward(), words=30)
        for tensor in (lib.ones(3), lib.ones(1), lib.ones(2, dtype=lib.int64), leaf(lib) * 2)
    ], tried(lambda: lib.autograd.backward(()))


@PROGRAMS("one engine, of one class")
def engine(lib: Any) -> Any:
    found = lib.autograd.Variable._execution_engine
    cls = lib._C._ImperativeEngine
    x = leaf(lib)
    again = cls().run_backward(((x * 2).sum(),), (lib.tensor(1.0),), True, False, (x,))
    return type(found) is cls, cls.__name__, listed(again)


@PROGRAMS("a backward of some leaves is no place for a checkpoint")
def checkpoints(lib: Any) -> Any:
    valid = lib.autograd.Variable._execution_engine.is_checkpoint_valid
    seen = [valid()]
    x = leaf(lib)
    y = x * 2
    y.register_hook(lambda grad: seen.append(valid()))
    y.sum().backward(retain_graph=True)
    y.sum().backward(inputs=(x,), retain_graph=True)
    lib.autograd.grad(y.sum(), x)
    return seen


# -- inside of a backward --------------------------------------------------------------------------


@PROGRAMS("the node that runs, in every kind of hook")
def current_node(lib: Any) -> Any:
    seen: list[Any] = []

    def note(what: str) -> None:
        seen.append((what, name(lib._C._current_autograd_node())))

    x, w = leaf(lib), leaf(lib)
    y = (x * w).exp()
    y.register_hook(lambda grad: note("tensor"))
    y.grad_fn.register_prehook(lambda grads: note("before"))
    y.grad_fn.register_hook(lambda inputs, outputs: note("after"))
    x.register_hook(lambda grad: note("leaf"))
    x.register_post_accumulate_grad_hook(lambda tensor: note("accumulated"))
    accumulator = (x * 2).grad_fn.next_functions[0][0]
    accumulator.register_prehook(lambda grads: note("before the leaf"))
    accumulator.register_hook(lambda inputs, outputs: note("after the leaf"))
    note("outside")
    y.sum().backward(retain_graph=True)
    lib.autograd.grad(y.sum(), (x, y), retain_graph=True)
    lib.autograd.grad(y.sum(), y, create_graph=True)
    note("outside")
    return seen


@PROGRAMS("nodes that the engine will execute")
def will_execute(lib: Any) -> Any:
    will = lib._C._will_engine_execute_node
    x, w = leaf(lib), leaf(lib)
    y = x * w
    z = y.exp()
    nodes = [y.grad_fn, z.grad_fn, *[edge[0] for edge in y.grad_fn.next_functions]]
    seen: list[Any] = []
    z.register_hook(lambda grad: seen.append([will(node) for node in nodes]))
    z.sum().backward(retain_graph=True)
    z.sum().backward(inputs=(w,), retain_graph=True)
    del nodes[2:]  # PyTorch answers for no leaf that is captured
    lib.autograd.grad(z.sum(), (y,), retain_graph=True)
    lib.autograd.grad(z.sum(), (y, x))
    return seen, tried(lambda: will(3), words=30), tried(lambda: will(y.grad_fn), words=30)


@PROGRAMS("the order in which nodes will run")
def execution_order(lib: Any) -> Any:
    order = lib._C._current_graph_task_execution_order
    x, w = leaf(lib), leaf(lib)
    y = x * w
    loss = ((y.exp() + y) * x).sum()
    seen: list[Any] = []
    loss.register_hook(lambda grad: seen.append([name(node) for node in order()]))
    with lib.autograd.set_multithreading_enabled(False):
        loss.backward(retain_graph=True)
        loss.backward(inputs=(w,), retain_graph=True)
        lib.autograd.grad(loss, (y,), retain_graph=True)
        lib.autograd.grad(loss, (y, x), retain_graph=True)
    return seen, tried(order, words=30)


@PROGRAMS("the number of the backward")
def task_id(lib: Any) -> Any:
    number = lib._C._current_graph_task_id
    x = leaf(lib)
    seen: list[int] = []
    x.register_hook(lambda grad: seen.append(number()))
    for _ in range(2):
        (x * 2).sum().backward()
    return number(), seen[0] != seen[1], min(seen) >= 0


# -- nodes -----------------------------------------------------------------------------------------


@PROGRAMS("nodes are called")
def nodes_called(lib: Any) -> Any:
    x, w = leaf(lib), lib.full((2,), 3.0, requires_grad=True)
    times, alone, total = x * w, x.exp(), (x * 2).sum()
    rows = lib.ones(2, 3, requires_grad=True).unbind(0)
    ones = lib.ones(2)
    seen = [
        listed(times.grad_fn(ones)),
        listed(times.grad_fn(None)),
        listed((x * 2).grad_fn(ones)),
        listed(total.grad_fn(lib.tensor(1.0))),
        listed(rows[0].grad_fn(lib.ones(3), None)),
        [each.requires_grad for each in times.grad_fn(ones)],
        kind(times.grad_fn),
        kind(lambda: times.grad_fn(3)),
        kind(lambda: times.grad_fn(ones, ones)),
        kind(lambda: times.grad_fn(ones, a=1)),
        kind(lambda: rows[0].grad_fn(ones)),
    ]
    hooked = x * w
    hooked.register_hook(lambda grad: seen.append("tensor hook"))
    hooked.grad_fn.register_hook(lambda inputs, outputs: seen.append("hook"))
    seen.append(listed(hooked.grad_fn(ones)))
    alone.sum().backward()
    seen.append(tried(lambda: alone.grad_fn(ones), words=50))
    return seen


@PROGRAMS("AccumulateGrad is called, and described")
def accumulate_called(lib: Any) -> Any:
    x = leaf(lib)
    node = (x * 2).grad_fn.next_functions[0][0]
    seen: list[Any] = []
    x.register_hook(lambda grad: seen.append("tensor hook"))
    x.register_post_accumulate_grad_hook(lambda tensor: seen.append("accumulated"))
    given = lib.ones(2)
    seen += [node(given), listed(x.grad), node(given), listed(x.grad), listed(given)]
    x.grad = None
    node(lib.ones(2, requires_grad=True) * 2)
    seen += [x.grad.requires_grad, node(None), node.requires_grad, node.variable is x]
    return seen, repr(node).partition(" object at")[0], kind(node), kind(lambda: node(1))


@PROGRAMS("the sequence number of a node is set")
def sequence_number(lib: Any) -> Any:
    node = leaf(lib).exp().grad_fn
    node._set_sequence_nr(5)
    return node._sequence_nr(), node.requires_grad


# -- Functions -------------------------------------------------------------------------------------


def mixed(lib: Any, returned: Callable[..., Any]) -> Any:
    """Return a Function of tensors and others, whose backward returns what `returned` does."""

    class Mixed(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            ctx.seen = ctx.needs_input_grad
            return tuple([arg * 1 for arg in args if isinstance(arg, lib.Tensor)])

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            assert ctx.seen == ctx.needs_input_grad
            return returned(*grads)

    return Mixed


@PROGRAMS("arguments of a Function that are no tensors have no edge")
def edges_of_function(lib: Any) -> Any:
    x, w = leaf(lib), leaf(lib)
    function = mixed(lib, lambda *grads: (None, grads[0], None, grads[1], None, None))
    outputs = function.apply(3, x, "a", w, None, lib.ones(1, dtype=lib.int64))
    node = outputs[0].grad_fn
    (outputs[0] * 5 + outputs[1]).sum().backward()
    return (
        [(name(edge[0]), edge[1]) for edge in node.next_functions],
        node.needs_input_grad,
        listed(x.grad),
        listed(w.grad),
        listed(node.apply(lib.ones(2), lib.zeros(2), lib.ones(1))),
    )


@PROGRAMS("gradients of a Function in the wrong places")
def wrong_gradients(lib: Any) -> Any:
    x = leaf(lib)
    return [
        tried(
            lambda given=given: mixed(lib, lambda *grads: given).apply(2, x, 1)[0].sum().backward(),
            words=34,
        )
        for given in (
            (None, lib.ones(2), 3),
            (lib.ones(1), lib.ones(2), None),
            (None, lib.ones(2)),
            (None, lib.ones(2), None, None),
            (None, lib.ones(2), None, lib.ones(1)),
            (None, 3, None),
            (None, lib.ones(3), None),
        )
    ], listed(x.grad)


@PROGRAMS("a Function of no tensors records nothing")
def no_tensors(lib: Any) -> Any:
    return mixed(lib, lambda *grads: ()).apply(2, 3)


@PROGRAMS("the edges of an operator with a registered derivative")
def edges_of_custom_op(lib: Any) -> Any:
    def scaled(x: lib.Tensor, n: int, y: lib.Tensor, f: float = 2.0) -> lib.Tensor:
        return x * n + y * f

    scaled.__annotations__ = {
        "x": lib.Tensor, "n": int, "y": lib.Tensor, "f": float, "return": lib.Tensor
    }  # fmt: skip
    op = lib.library.custom_op(f"entrances_{lib.__name__}::scaled", scaled, mutates_args=())
    op.register_autograd(lambda ctx, grad: (grad, None, grad * 2, None))
    x, y = leaf(lib), leaf(lib)
    node = op(x, 3, y).grad_fn
    return [(name(edge[0]), edge[1]) for edge in node.next_functions]


# -- accumulation ----------------------------------------------------------------------------------


def seen_by_mode(lib: Any, function: Callable[[], Any]) -> list[str]:
    """Return the operators that a dispatch mode sees while `function` is called."""
    seen: list[str] = []
    modes = import_module(f"{lib.__name__}.utils._python_dispatch")

    class Mode(modes.TorchDispatchMode):  # type: ignore[misc, name-defined]
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    with Mode():
        function()
    return seen


@PROGRAMS("a mode sees how gradients accumulate")
def accumulation_seen(lib: Any) -> Any:
    x, given = leaf(lib), lib.ones(2)
    y = (x * 2).sum()
    seen = [seen_by_mode(lib, lambda: y.backward(retain_graph=True)) for _ in range(2)]
    z = (x * x * x).sum()
    x.grad = None
    seen += [seen_by_mode(lib, lambda: z.backward(create_graph=True)) for _ in range(2)]
    for make in (x.sum, lambda: x, lambda: x + x):
        x.grad = None
        made = make()
        seed = given if made.shape else lib.tensor(1.0)
        seen.append(seen_by_mode(lib, lambda made=made, seed=seed: made.backward(seed)))
    seen.append(seen_by_mode(lib, lambda: lib.autograd.grad((x * 3).sum(), x)))
    return seen, listed(x.grad)


@PROGRAMS("a mode sees the layout of gradients")
def layout_seen(lib: Any) -> Any:
    turned = lib.ones(2, 3).t().requires_grad_()
    seed, square = lib.ones(3, 2), lib.ones(2, 2, requires_grad=True)
    seen = [seen_by_mode(lib, lambda: turned.backward(seed)), turned.grad.stride()]
    seed = lib.ones(2, 2)
    seen += [seen_by_mode(lib, lambda: square.t().backward(seed)), square.grad.stride()]
    spread = lib.ones(3).expand(2, 3).requires_grad_()
    seed = lib.ones(2, 3)
    seen += [seen_by_mode(lib, lambda: spread.backward(seed)), spread.grad.stride()]
    return seen


@PROGRAMS("a mode sees gradients that are kept elsewhere copied")
def kept_gradients_seen(lib: Any) -> Any:
    x, kept = leaf(lib), lib.ones(2)

    class Given(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return kept

    y, seed = Given.apply(x), lib.ones(2)
    seen = [seen_by_mode(lib, lambda: y.backward(seed, retain_graph=True)) for _ in range(2)]
    return seen, listed(kept), listed(x.grad)


@PROGRAMS("hooks and other dtypes under a mode")
def hooks_seen(lib: Any) -> Any:
    x, w = leaf(lib), leaf(lib)
    x.register_hook(lambda grad: None)
    w.grad_dtype = lib.float64
    y = (x + w).sum()
    return [seen_by_mode(lib, lambda: y.backward(retain_graph=True)) for _ in range(2)]


@PROGRAMS("gradients are added in place to whatever is there")
def in_place(lib: Any) -> Any:
    found = []
    flat = lib.zeros(6)
    for given in (
        flat[:2],
        flat[2:4].view(2),
        flat[4:],
        lib.ones(2, requires_grad=True),
        lib.ones(2, requires_grad=True) * 1,
        lib.nn.Parameter(lib.ones(2)),
    ):
        x = leaf(lib)
        x.grad = given
        (x * 3).sum().backward()
        y = (x * 3).sum()
        y.register_hook(lambda grad: grad * 1)
        y.backward()
        found.append((x.grad is given, given.requires_grad, given._version, listed(given.detach())))
    return found, listed(flat)


@PROGRAMS("a gradient with a graph is added to without one, in place")
def in_place_with_graph(lib: Any) -> Any:
    x = leaf(lib)
    (x * x).sum().backward(create_graph=True)
    first = x.grad
    (x * 2).sum().backward()
    return x.grad is first, first.requires_grad, name(first.grad_fn), listed(first.detach())


@pytest.mark.usefixtures("every_warning")
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_gives_the_same_in_torch(name: str) -> None:
    if PROGRAMS[name] is hooks_seen and dovetail.get_default_device().type == "cuda":
        pytest.skip("CuPy converts an expanded array to C order, which a leaf need not copy")
    assert_same(PROGRAMS[name], words=35)


def test_a_gradient_that_is_a_view_is_copied_here_and_kept_there() -> None:
    import torch

    for lib, is_same in ((dovetail, False), (torch, True)):
        x, seed = lib.ones(4, requires_grad=True), lib.ones(2, 2)
        seen = seen_by_mode(lib, lambda x=x, seed=seed: x.view(2, 2).backward(seed))
        assert (seen[-1] == "aten.detach.default") is is_same
        seed.add_(1)
        assert (x.grad.tolist() == [2.0] * 4) is is_same


def test_the_engine_answers_here_where_pytorch_refuses() -> None:
    import torch

    for lib, answers in ((dovetail, True), (torch, False)):
        x = leaf(lib)
        y = x * 2
        node, accumulator = y.grad_fn, y.grad_fn.next_functions[0][0]
        seen: list[Any] = []
        y.register_hook(
            lambda grad, lib=lib, node=accumulator, seen=seen: seen.extend(
                [
                    kind(lambda: lib._C._will_engine_execute_node(node)),
                    kind(lambda: len(lib._C._current_graph_task_execution_order())),
                ]
            )
        )
        lib.autograd.grad(y.exp().sum(), x)
        assert seen == ([True, 4] if answers else ["RuntimeError"] * 2)
        function = mixed(lib, lambda *grads: grads)
        made = function.apply(x)[0].grad_fn
        called = kind(lambda node=made, lib=lib: node(lib.ones(2)))
        assert called == ([1.0, 1.0] if answers else "TypeError")
        assert node is not made
