"""What random programs found, each in a few lines: the same program gives the same result, or
error, in PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install torch==2.13.0")

import dovetail  # noqa: E402

Program = Callable[[Any], Any]
PROGRAMS: dict[str, Program] = {}


def program(name: str) -> Callable[[Program], Program]:
    def note(function: Program) -> Program:
        PROGRAMS[name] = function
        return function

    return note


def outcome(function: Callable[[], Any]) -> Any:
    """Return what a call gives, or the type and first words of its error."""
    try:
        result = function()
    except Exception as error:
        return type(error).__name__, str(error).replace("torch.", "dovetail.")[:40]
    return result.tolist() if hasattr(result, "tolist") else result


def chain(tensor: Any) -> list[str]:
    """Return the names of the nodes from that of a tensor on, always by the first edge."""
    names, node = [], tensor.grad_fn
    while node is not None:
        names.append(node.name().rpartition(":")[2])
        node = node.next_functions[0][0] if node.next_functions else None
    return names


# -- inference tensors -----------------------------------------------------------------------------


def inference(lib: Any, values: Any = (2.0, 4.0)) -> Any:
    with lib.inference_mode():
        return lib.tensor(values)


WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "div_": lambda lib, x: x.div_(inference(lib)),
    "mul_": lambda lib, x: x.mul_(inference(lib)),
    "pow_": lambda lib, x: x.pow_(inference(lib)),
    "addcmul_": lambda lib, x: x.addcmul_(inference(lib), lib.ones(2, requires_grad=True)),
    "lerp_": lambda lib, x: x.lerp_(lib.ones(2, requires_grad=True), inference(lib)),
    "masked_fill_": lambda lib, x: x.masked_fill_(inference(lib, [True, False]), 2.0),
    "index_put_": lambda lib, x: x.index_put_((inference(lib, [0]),), lib.ones(())),
    "assignment to a mask": lambda lib, x: x.__setitem__(inference(lib, [True, False]), 1.0),
    "add_, which saves nothing": lambda lib, x: x.add_(inference(lib)),
}


def refused_write(write: Callable[[Any, Any], Any]) -> Program:
    def run(lib: Any) -> Any:
        x = lib.ones(2, requires_grad=True) * 3
        found = outcome(lambda: write(lib, x))
        return found, x.tolist(), x._version, chain(x)

    return run


PROGRAMS |= {
    f"{name} that would save an inference tensor": refused_write(write)
    for name, write in WRITES.items()
}


@program("writes to what was detached from an inference tensor")
def _(lib: Any) -> Any:
    i = inference(lib)
    ways = [
        i.detach(),
        i.data,
        i.view(-1).detach(),
        i.detach().detach(),
        i,
        i.view(-1),
        i[0:],
        i.unbind()[0],
    ]
    with lib.inference_mode():
        ways.append(i.detach())
    return [
        (
            each.is_inference(),
            outcome(lambda each=each: each.mul_(2)),
            outcome(lambda each=each: each._version),
        )
        for each in ways
    ]


@program("a recorded write to what was detached from an inference tensor")
def _(lib: Any) -> Any:
    x, w = inference(lib).detach(), lib.ones(2, requires_grad=True)
    x.add_(w * 2)
    x.sum().backward()
    return x.is_inference(), chain(x), w.grad.tolist(), outcome(lambda: x * w)


@program("a Function that writes to what was detached from an inference tensor")
def _(lib: Any) -> Any:
    class Double(lib.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x.mul_(2)

    return Double.apply(inference(lib).detach())


@program("detach_ of a view in the modes")
def _(lib: Any) -> Any:
    def detached(mode: Any) -> Any:
        view = lib.ones(3)[1:]
        with mode():
            return view.detach_() is view, view._is_view()

    return [
        outcome(lambda mode=mode: detached(mode))
        for mode in (lib.inference_mode, lib.no_grad, lib.enable_grad)
    ]


# -- views and writes ------------------------------------------------------------------------------


@program("a view of numbers as complex, its base written later")
def _(lib: Any) -> Any:
    x = lib.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x * 1
    v = lib.view_as_complex(y)
    y.mul_(2)
    (v * v.conj()).real.sum().backward()
    return chain(v), x.grad.tolist()


@program("a part of a view of numbers as complex, its base written later")
def _(lib: Any) -> Any:
    x = lib.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    y = x * 1
    v = lib.view_as_complex(y[2:].view(1, 2))
    y.mul_(2)
    (v * v.conj()).real.sum().backward()
    return chain(v), x.grad.tolist()


@program("views of complex numbers as real, their base written later")
def _(lib: Any) -> Any:
    found = []
    for view in (
        lib.view_as_real,
        lambda y: y.real,
        lambda y: y.imag,
        lambda y: lib.view_as_real(y)[:, 1],
    ):
        x = lib.tensor([1 + 2j, 3 - 1j], requires_grad=True)
        y = x * 1
        v = view(y)
        y.mul_(2)
        names = chain(v)
        (v * v).sum().backward()
        found.append((names, x.grad.tolist()))
    return found


@program("a view of numbers as complex, written")
def _(lib: Any) -> Any:
    x = lib.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x * 1
    v = lib.view_as_complex(y)
    v.mul_(2j)
    names = chain(y), chain(v)
    (y * y * lib.tensor([1.0, 3.0])).sum().backward()
    return names, x.grad.tolist()


@program("a part of a view of numbers as complex, written")
def _(lib: Any) -> Any:
    x = lib.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    y = x * 2
    lib.view_as_complex(y[2:].view(1, 2)).mul_(1j)
    (y * lib.tensor([1.0, 2.0, 3.0, 4.0])).sum().backward()
    return chain(y), x.grad.tolist()


@program("views of complex numbers as real, written")
def _(lib: Any) -> Any:
    found = []
    for view in (
        lib.view_as_real,
        lambda y: y.real,
        lambda y: y.imag,
        lambda y: lib.view_as_real(y[1:])[:, 1],
    ):
        x = lib.tensor([1 + 2j, 3 - 1j], requires_grad=True)
        y = x * 1
        view(y).mul_(3)
        (y * y.conj()).real.sum().backward()
        found.append((chain(y), x.grad.tolist()))
    return found


@program("a view whose base was detached in place and then written is a constant")
def _(lib: Any) -> Any:
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    v, untouched = y[0], (x * 2)[0]
    y.detach_()
    y.mul_(3)
    (v * 5 + untouched).backward()
    return chain(v), v.requires_grad, v.is_leaf, x.grad.tolist()


@program("a view whose base requires grad no more and was written is a constant")
def _(lib: Any) -> Any:
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    v = x.view(2)
    x.requires_grad_(False)
    before = chain(v)
    x.mul_(3)
    (v * 2).sum().backward()
    return before, chain(v), v.requires_grad, x.grad


@program("one of several views whose base was detached in place and then written")
def _(lib: Any) -> Any:
    y = lib.ones(2, requires_grad=True) * 2
    v = y.unbind()[1]
    y.detach_()
    y.mul_(2)
    return v.grad_fn


@program("the node of a view asked for in inference mode after a write to its base")
def _(lib: Any) -> Any:
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    v = y[0]
    y.mul_(3)
    with lib.inference_mode():
        names = chain(v)
    v.backward()
    return names, chain(v), x.grad.tolist()


@program("a number out of the memory that is written to")
def _(lib: Any) -> Any:
    def written(write: Callable[[Any], Any]) -> Any:
        x = lib.tensor([2.0, 3.0, 4.0], requires_grad=True)
        y = x * 1
        write(y)
        (y * lib.tensor([1.0, 10.0, 100.0])).sum().backward()
        return y.tolist(), x.grad.tolist(), y._version

    mask = lib.tensor([True, False, True])
    writes = [
        lambda y: y.fill_(y[1]),
        lambda y: y.masked_fill_(mask, y[1]),
        lambda y: y.__setitem__(slice(None), y[1]),
        lambda y: y.__setitem__(slice(0, 2), y[1]),
        lambda y: y.__setitem__(0, y[1]),
        lambda y: y.__setitem__(1, y[1]),
        lambda y: y.__setitem__(mask, y[1]),
        lambda y: y.__setitem__(slice(0, 2), y[1:]),
        lambda y: y.mul_(y[1]),
    ]
    return [outcome(lambda write=write: written(write)) for write in writes]


WHOLE_SLICES: list[tuple[str, Any]] = [
    ("colon", slice(None)),
    ("from zero", slice(0, None)),
    ("to the end", slice(0, 2)),
    ("beyond the end", slice(None, 9)),
    ("in steps of one", slice(None, None, 1)),
    ("two colons", (slice(None), slice(None))),
    ("dots", ...),
    ("nothing", ()),
    ("dots and a slice", (..., slice(0, 2))),
    ("from the end", slice(-2, None)),
    ("a new dimension", None),
]


def written_whole(lib: Any, index: Any) -> Any:
    found = []
    for make in (lambda w: w.sum(), lambda w: w * 1):
        x, w = lib.ones(2, 2, requires_grad=True), lib.ones(2, 2, requires_grad=True)
        y = x * 1
        y[index] = make(w)
        y.sum().backward()
        found.append((chain(y)[0], y._version, x.grad.tolist(), w.grad.tolist()))
    return found


PROGRAMS |= {
    f"an assignment to all of a tensor by {name}": lambda lib, index=index: written_whole(
        lib, index
    )
    for name, index in WHOLE_SLICES
}


@program("slices that take all of a dimension")
def _(lib: Any) -> Any:
    x, index = lib.ones(2, 2, requires_grad=True), lib.tensor([0, 1])
    whole = slice(0, 2)
    indices = [
        (whole, slice(1, None)),
        (slice(None), index),
        (whole, index),
        (slice(1, None), index),
        (index, slice(None)),
        (index, whole),
        (slice(None), None),
        (whole, None),
        (..., whole),
        (0, whole),
        whole,
        slice(None),
    ]
    return [chain(x[each]) for each in indices]


@program("a tensor assigned to itself")
def _(lib: Any) -> Any:
    x = lib.ones(2, requires_grad=True)
    y = x * 2
    y[:] = y
    y[0:2] = y[0:2]
    y.sum().backward()
    return chain(y)[0], y._version, x.grad.tolist()


@program("the product of a vector and a matrix is no view")
def _(lib: Any) -> Any:
    product = lib.ones(2) @ lib.ones(2, 3)
    return product._is_view(), product.requires_grad_().detach_().tolist()


# -- hooks where no gradient comes -----------------------------------------------------------------


def without_gradient(lib: Any, x: Any, y: Any) -> Any:
    """Return a product whose gradient with respect to `x` is None."""

    class Second(lib.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            return x * y

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return None, grad

    return Second.apply(x, y)


def shown(grads: Any) -> Any:
    if isinstance(grads, (tuple, list)):
        return [shown(each) for each in grads]
    return grads.tolist() if hasattr(grads, "tolist") else grads


def heard(lib: Any, listen: Callable[[Any, Any, Any, list[Any]], Any], *, asked_for: bool) -> Any:
    """Return what the hooks that `listen` puts on two leaves and their product hear, and the
    gradients.
    """
    x, y = (lib.ones(2, requires_grad=True) for _ in range(2))
    calls: list[Any] = []
    z = without_gradient(lib, x, y)
    kept = listen(x, y, z, calls)
    grads = (
        lib.autograd.grad(z.sum(), [x, y], allow_unused=True) if asked_for else z.sum().backward()
    )
    del kept
    return shown(calls), shown(grads), shown(x.grad), shown(y.grad)


LISTENERS: dict[str, Callable[[Any], Callable[[Any, Any, Any, list[Any]], Any]]] = {
    "a tensor hook": lambda lib: lambda x, y, z, calls: x.register_hook(calls.append),
    "a post-accumulate hook": lambda lib: (
        lambda x, y, z, calls: x.register_post_accumulate_grad_hook(
            lambda leaf: calls.append(leaf.grad)
        )
    ),
    "a hook of both leaves": lambda lib: (
        lambda x, y, z, calls: lib.autograd.graph.register_multi_grad_hook(
            (x, y), lambda grads: calls.append(list(grads))
        )
    ),
    "a hook of any leaf": lambda lib: (
        lambda x, y, z, calls: lib.autograd.graph.register_multi_grad_hook(
            (x, y), calls.append, mode="any"
        )
    ),
    "hooks of the accumulator": lambda lib: (
        lambda x, y, z, calls: (
            (node := z.grad_fn.next_functions[0][0]),
            node.register_prehook(lambda grads: calls.append(("before", grads))),
            node.register_hook(lambda inputs, outputs: calls.append(("after", inputs, outputs))),
        )
    ),
    "a tensor hook that makes one": lambda lib: (
        lambda x, y, z, calls: x.register_hook(lambda grad: lib.ones(2))
    ),
    "a node hook that makes one": lambda lib: (
        lambda x, y, z, calls: z.grad_fn.register_hook(
            lambda inputs, outputs: (lib.ones(2), inputs[1])
        )
    ),
    "a node pre-hook that makes one": lambda lib: (
        lambda x, y, z, calls: (
            (node := z.grad_fn.next_functions[0][0]),
            node.register_prehook(lambda grads: (lib.ones(2),)),
        )
    ),
}
PROGRAMS |= {
    f"{name} where no gradient comes, {'asked for' if asked_for else 'accumulating'}": (
        lambda lib, listen=listen, asked_for=asked_for: heard(lib, listen(lib), asked_for=asked_for)
    )
    for name, listen in LISTENERS.items()
    for asked_for in (False, True)
    # PyTorch cannot tell a hook of several leaves which of them a call of grad reaches.
    if not (asked_for and name == "a hook of both leaves")
}


@program("a tensor hook of an inner tensor that makes a gradient of none")
def _(lib: Any) -> Any:
    x, y = (lib.ones(2, requires_grad=True) for _ in range(2))
    z = x * 2
    z.register_hook(lambda grad: lib.ones(2))
    without_gradient(lib, z, y).sum().backward()
    return shown(x.grad)


@program("hooks of a leaf where no gradient comes while the backward is recorded")
def _(lib: Any) -> Any:
    x, y = (lib.ones(2, requires_grad=True) for _ in range(2))
    calls: list[Any] = []
    x.register_hook(calls.append)
    x.register_post_accumulate_grad_hook(lambda leaf: calls.append(leaf.grad))
    without_gradient(lib, x, y).sum().backward(create_graph=True)
    return calls


# -- kernels ---------------------------------------------------------------------------------------


@program("values with more dimensions than what index_put writes to")
def _(lib: Any) -> Any:
    x, twice, one = lib.zeros(2, 3), lib.tensor([0, 0]), lib.tensor([[0]])
    mask = lib.tensor([[True, False, False], [False, False, True]])
    return [
        outcome(lambda index=index, shape=shape: x.index_put(index, lib.ones(shape)))
        for index, shape in [
            ((twice,), (1, 2, 1)),
            ((twice,), (1, 2, 3)),
            ((twice,), (2, 1)),
            ((twice, twice), (1, 2)),
            ((one,), (1, 1, 3)),
            ((mask,), (1, 2)),
            ((mask,), (2,)),
            ((lib.tensor(0),), (1, 3)),
        ]
    ]


@program("the loss of cross entropy, written in place")
def _(lib: Any) -> Any:
    found = []
    for dtype in (lib.float16, lib.bfloat16, lib.float32, lib.float64):
        for shape in ((2, 3), (1, 2), (0, 3), (40, 200)):
            for reduction in ("mean", "sum"):
                x = lib.ones(shape, dtype=dtype, requires_grad=True)
                loss = lib.nn.functional.cross_entropy(
                    x * 1, lib.zeros(shape[0], dtype=lib.int64), reduction=reduction
                )
                loss /= 2
                loss += 1
                loss.backward()
                loss.detach().fill_(3.0)
                found.append(
                    (str(loss.dtype).rpartition(".")[2], loss.item(), loss._version, len(x.grad))
                )
    return found


@program("clamp between tensors of dtypes with and without an order")
def _(lib: Any) -> Any:
    def clamped(dtype: str, bound: str) -> Any:
        x, limit = (
            lib.tensor([1, 2], dtype=getattr(lib, dtype)),
            lib.tensor([1, 0], dtype=getattr(lib, bound)),
        )
        found = x.clamp(min=limit), lib.clamp(x, max=limit)
        return [(str(each.dtype).rpartition(".")[2], each.tolist()) for each in found]

    pairs = [("bool", "bool"), ("bool", "int64"), ("int64", "float32"), ("float32", "complex64")]
    found = [outcome(lambda pair=pair: clamped(*pair)) for pair in pairs]
    return [each[0] if isinstance(each, tuple) else each for each in found]


@program("the binary cross entropy of complex numbers")
def _(lib: Any) -> Any:
    x = lib.ones(2, dtype=lib.complex64)
    return outcome(lambda: lib.nn.functional.binary_cross_entropy_with_logits(x, x))[0]


@program("a loss of certain predictions is no negative zero")
def _(lib: Any) -> Any:
    F = lib.nn.functional
    found = [
        str(
            F.cross_entropy(
                lib.ones(n, 1), lib.zeros(n, dtype=lib.int64), reduction=reduction
            ).item()
        )
        for n in (2, 5000)
        for reduction in ("mean", "sum")
    ]
    return found, str(F.nll_loss(lib.zeros(2, 3), lib.tensor([0, 1])).item())


@program("index_add of nothing to nothing")
def _(lib: Any) -> Any:
    x, no_index = lib.zeros(0, 3), lib.zeros(0, dtype=lib.int64)
    return x.index_add(0, no_index, x).tolist(), lib.ones(2, 3).index_add(0, no_index, x).tolist()


@program("index_put of what does not fit to nothing")
def _(lib: Any) -> Any:
    return outcome(lambda: lib.zeros(0, 3).index_put((lib.tensor([0, 0]),), lib.zeros(5, 3)))[0]


@program("softmax of empty tensors of integers and bools")
def _(lib: Any) -> Any:
    dtypes = [lib.int64, lib.bool, lib.uint8]
    return [
        (
            outcome(lambda f=f, x=x: str(f(x).dtype).rpartition(".")[2]),
            outcome(lambda f=f, x=x: f(x).tolist()),
        )
        for f in (lambda x: x.softmax(0), lambda x: x.log_softmax(-1))
        for shape in ((0,), (0, 3), (2, 0))
        for x in (lib.zeros(shape, dtype=dtype) for dtype in dtypes)
    ]


def gelu_of_the_far_negative(lib: Any, size: int, infinite: bool) -> Any:
    x = lib.tensor([-float("inf") if infinite else -1e30, -6.5, -20.0] * size, requires_grad=True)
    y = lib.nn.functional.gelu(x)
    y.sum().backward()
    # PyTorch's sign of the zero below finite numbers depends on the vector unit of the processor.
    first = [str(y.tolist()[0] if infinite else abs(y.tolist()[0])), str(x.grad.tolist()[0])]
    return (
        first,
        [abs(value) < 1e-8 for value in y.tolist()[1:3]],
        [abs(value) < 1e-7 for value in x.grad.tolist()[1:3]],
    )


PROGRAMS |= {
    f"gelu of {size} numbers from {'minus infinity' if infinite else 'far below zero'}": (
        lambda lib, size=size, infinite=infinite: gelu_of_the_far_negative(lib, size, infinite)
    )
    for size in (1, 30, 20000)
    for infinite in (False, True)
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_gives_the_same_in_torch(name: str) -> None:
    assert outcome(lambda: PROGRAMS[name](dovetail)) == outcome(lambda: PROGRAMS[name](torch))
