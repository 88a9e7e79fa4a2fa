"""Rows about what stands around calls: modes, guards, custom operators in each style."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

from .row import Row, Run

KEPT: list[Any] = []
"""Libraries whose registrations must outlive the function that made them."""


def rows() -> Iterator[Row]:
    """Yield the groups ``custom operators`` and ``around calls``, and the ``modes`` among the small
    calls.
    """
    for name, make in MODES.items():
        per = 50 if name.startswith("50") else 1
        yield Row("small calls", "modes", name, make, per=per)
    for name, make in AROUND.items():
        yield Row("around calls", "around", name, make)
    for name, make in OPERATORS.items():
        yield Row("custom operators", "operators", name, make)


def square(lib: Any, *, grad: bool = False) -> Any:
    """Return an 8×8 tensor of float32."""
    return lib.ones(8, 8, requires_grad=grad)


def under(mode: Callable[[Any], Any]) -> Callable[[Any], Run]:
    """Return a row of fifty additions under a mode that passes calls on, per addition."""

    def make(lib: Any) -> Run:
        x, y, entered = square(lib), square(lib), mode(lib)

        def run() -> None:
            with entered:
                for _ in range(50):
                    x + y

        return run

    return make


def dispatch_mode(lib: Any) -> Any:
    """Return a TorchDispatchMode that passes calls on."""
    name = f"{lib.__name__}.utils._python_dispatch"

    class Passing(importlib.import_module(name).TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    return Passing()


def function_mode(lib: Any) -> Any:
    """Return a TorchFunctionMode that passes calls on."""

    class Passing(importlib.import_module(f"{lib.__name__}.overrides").TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    return Passing()


def entering(guard: Callable[[Any], Callable[[], Any]]) -> Callable[[Any], Run]:
    """Return a row that enters a guard and leaves it."""

    def make(lib: Any) -> Run:
        entered = guard(lib)

        def run() -> None:
            with entered():
                pass

        return run

    return make


def subclass(lib: Any) -> Run:
    """Return an addition of tensors of a plain subclass."""

    class Plain(lib.Tensor):  # type: ignore[misc]
        pass

    x, y = square(lib).as_subclass(Plain), square(lib).as_subclass(Plain)
    return lambda: x + y


def parameter(lib: Any) -> Run:
    """Return a product with a Parameter, recorded."""
    x, y = lib.nn.Parameter(square(lib)), square(lib)
    return lambda: x * y


def vmapped(lib: Any) -> Run:
    """Return a vmap over rows of a product."""
    x, y = square(lib), square(lib)
    function = lib.func.vmap(lambda a, b: a * b)
    return lambda: function(x, y)


def wrapper(lib: Any) -> Run:
    """Return an addition of wrapper subclasses that unwrap and wrap in ``__torch_dispatch__``."""

    class Wrapper(lib.Tensor):  # type: ignore[misc]
        @staticmethod
        def __new__(cls, inner):
            made = lib.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
            made.inner = inner
            return made

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            inner = [each.inner if isinstance(each, cls) else each for each in args]
            return cls(func(*inner, **(kwargs or {})))

    x, y = Wrapper(square(lib)), Wrapper(square(lib))
    return lambda: x + y


def cast(lib: Any) -> Run:
    """Return a Linear layer under autocast."""
    layer, x = lib.nn.Linear(8, 8), square(lib)

    def run() -> Any:
        with lib.autocast("cpu", lib.bfloat16):
            return layer(x)

    return run


def checkpointed(lib: Any) -> Run:
    """Return a checkpoint of two products, and its backward."""
    checkpoint = importlib.import_module(f"{lib.__name__}.utils.checkpoint").checkpoint
    x, seed = square(lib, grad=True), square(lib)

    def run() -> None:
        x.grad = None
        checkpoint(lambda a: (a * a).tanh(), x, use_reentrant=False).backward(seed)

    return run


def mapped_gradient(lib: Any) -> Run:
    """Return the gradients of a sum of products, by rows."""
    x, y = square(lib), square(lib)
    function = lib.func.vmap(lib.func.grad(lambda a, b: (a * b).sum()))
    return lambda: function(x, y)


def calling(text: str) -> Callable[[Any], Run]:
    """Return a row of an expression of squares `x`, `y` and `out`."""

    def make(lib: Any) -> Run:
        scope = {"lib": lib, "x": square(lib), "y": square(lib), "out": square(lib)}
        run: Run = eval(f"lambda: {text}", scope)
        return run

    return make


AROUND: dict[str, Callable[[Any], Run]] = {
    "x + y, wrapper subclasses": wrapper,
    "Linear under autocast": cast,
    "checkpoint, and backward": checkpointed,
    "vmap(grad(f))": mapped_gradient,
    "Parameter(x)": calling("lib.nn.Parameter(x)"),
    "ops.aten.add(x, y)": calling("lib.ops.aten.add(x, y)"),
    "ops.aten.sum(x)": calling("lib.ops.aten.sum(x)"),
    "add(x, y, out=out)": calling("lib.add(x, y, out=out)"),
    "func.jvp(f)": calling("lib.func.jvp(lambda a: a * a, (x,), (y,))"),
    "x + y of two dtypes": calling("x + (y > 0)"),
}
"""What the goal of transforms, modes and subclasses is about, besides `MODES`."""


MODES: dict[str, Callable[[Any], Run]] = {
    "50 x + y, TorchDispatchMode": under(dispatch_mode),
    "50 x + y, TorchFunctionMode": under(function_mode),
    "with no_grad()": entering(lambda lib: lib.no_grad),
    "with inference_mode()": entering(lambda lib: lib.inference_mode),
    "with set_grad_enabled(False)": entering(lambda lib: lambda: lib.set_grad_enabled(False)),
    "with autocast('cpu')": entering(lambda lib: lambda: lib.autocast("cpu", lib.bfloat16)),
    "x + y, plain subclasses": subclass,
    "Parameter * y": parameter,
    "vmap(a * b)": vmapped,
}


# -- custom operators ------------------------------------------------------------------------------


def namespace(lib: Any) -> str:
    """Return the name of a namespace that nothing uses yet."""
    KEPT.append(None)
    return f"suite_{lib.__name__}_{len(KEPT)}"


def library_op(lib: Any, kernel: Any, schema: str = "(Tensor x) -> Tensor") -> Any:
    """Return an operator made with Library.define and impl."""
    library = lib.library.Library(namespace(lib), "DEF")
    library.define(f"f{schema}")
    library.impl("f", kernel, "CPU")
    KEPT.append(library)
    return getattr(lib.ops, library.ns).f


def conditioned_op(lib: Any) -> Any:
    """Return an operator whose kernel with a condition takes no call; elsewhere a kernel asks."""

    def refuse(x: Any) -> bool:
        return False

    if lib.__name__ != "dovetail":
        return library_op(lib, lambda x: x.clone() if refuse(x) else x).default
    operator = library_op(lib, passing).default
    KEPT[-1].impl("f", lambda x: x.clone(), "CPU", when=refuse, why="never")
    return operator


def called(operator: Callable[[Any], Any], tensors: int = 1, *, grad: bool = False) -> Any:
    """Return a row that calls an operator with as many tensors."""

    def make(lib: Any) -> Run:
        function, given = operator(lib), [square(lib, grad=grad) for _ in range(tensors)]
        names = [f"a{i}" for i in range(tensors)]
        scope: dict[str, Any] = {"function": function}
        exec(
            f"def outer(function, {', '.join(names)}):\n"
            f"    def run():\n"
            f"        return function({', '.join(names)})\n"
            f"    return run\n",
            scope,
        )
        run: Run = scope["outer"](function, *given)
        return run

    return make


def custom_op(lib: Any, arguments: int = 1, *, formula: bool = False) -> Any:
    """Return a custom_op that copies its first argument."""
    names = [f"x{i}" for i in range(arguments)]
    scope: dict[str, Any] = {}
    exec(f"def copy({', '.join(names)}):\n    return x0.clone()\n", scope)
    copy = scope["copy"]
    copy.__annotations__ = {**dict.fromkeys(names, lib.Tensor), "return": lib.Tensor}
    made = lib.library.custom_op(f"{namespace(lib)}::copy", copy, mutates_args=())
    if formula:
        made.register_autograd(
            lambda ctx, grad: grad, setup_context=lambda ctx, inputs, output: None
        )
    KEPT.append(made)
    return made


def mutating(lib: Any) -> Any:
    """Return a custom_op that writes to its argument."""

    def fill(x):
        x.fill_(1.0)

    fill.__annotations__ = {"x": lib.Tensor, "return": None}
    made = lib.library.custom_op(f"{namespace(lib)}::fill", fill, mutates_args={"x"})
    KEPT.append(made)
    return made


def function(lib: Any) -> Any:
    """Return a Function that doubles."""

    class Double(lib.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    return Double.apply


def separate_function(lib: Any) -> Any:
    """Return a Function with a setup_context of its own, that saves a tensor."""

    class Square(lib.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * x * 2

    return Square.apply


def stepping(operator: Callable[[Any], Any]) -> Callable[[Any], Run]:
    """Return a row of a call, recorded, and its backward."""

    def make(lib: Any) -> Run:
        function, x, seed = operator(lib), square(lib, grad=True), square(lib)

        def run() -> None:
            x.grad = None
            function(x).backward(seed)

        return run

    return make


def passing(x: Any) -> Any:
    """Be a kernel that costs nothing."""
    return x


OPERATORS: dict[str, Callable[[Any], Run]] = {
    "Library op": called(lambda lib: library_op(lib, passing).default),
    "Library op, a condition says no": called(conditioned_op),
    "Library op, packet": called(lambda lib: library_op(lib, passing)),
    "Library op of 4": called(
        lambda lib: (
            library_op(
                lib, lambda x, y, n, s: x, "(Tensor x, Tensor y, Tensor n, Tensor s) -> Tensor"
            ).default
        ),
        4,
    ),
    "Library op that clones": called(lambda lib: library_op(lib, lambda x: x.clone()).default),
    "custom_op of 1": called(custom_op),
    "custom_op of 10": called(lambda lib: custom_op(lib, 10), 10),
    "custom_op that writes": called(mutating),
    "custom_op with formula": called(lambda lib: custom_op(lib, formula=True)),
    "custom_op with formula, recording": called(
        lambda lib: custom_op(lib, formula=True), grad=True
    ),
    "custom_op with formula, and backward": stepping(lambda lib: custom_op(lib, formula=True)),
    "Function": called(function),
    "Function, recording": called(function, grad=True),
    "Function, and backward": stepping(function),
    "Function with setup_context, recording": called(separate_function, grad=True),
    "Function with setup_context, and backward": stepping(separate_function),
}
