"""The same modes and subclasses on PyTorch and on Dovetail: what they see, in which order, and what
comes of it.

Where the two differ on purpose:

- a function and the method of the same name are one object here, so `func` is ``dovetail.add`` for
  ``x.add(y)`` too;
- arguments come as the function's signature binds them: positional ones by position, defaults at
  the end left out;
- a Python function made of other functions (`F.mse_loss`) is not seen for its own sake, but what it
  calls is;
- formulas in C++ have their own overloads for numbers (``mul.Scalar``), and detach what they save
  of their results.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dovetail  # not first in a test: what a test imports and registers is taken back


@dataclass(frozen=True)
class Library:
    """A library under test, with the names that the programs need."""

    name: str

    @property
    def t(self) -> Any:
        return importlib.import_module(self.name)

    @property
    def functional(self) -> Any:
        return importlib.import_module(f"{self.name}.nn.functional")

    @property
    def dispatch(self) -> Any:
        return importlib.import_module(f"{self.name}.utils._python_dispatch")

    @property
    def overrides(self) -> Any:
        return importlib.import_module(f"{self.name}.overrides")


DOVETAIL, TORCH = Library(dovetail.__name__), Library("torch")
Program = Callable[[Library], Any]


def outcome(program: Program, library: Library) -> Any:
    try:
        return tree_map(
            lambda value: round(value, 4) if isinstance(value, float) else value, program(library)
        )
    except Exception as error:  # the type is compared
        return type(error).__name__


def assert_alike(program: Program) -> None:
    assert outcome(program, DOVETAIL) == outcome(program, TORCH)


def tree_map(function: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(tree_map(function, item) for item in value)
    if isinstance(value, dict):
        return {key: tree_map(function, item) for key, item in value.items()}
    return function(value)


def seen_by_mode(lib: Library) -> tuple[Any, list[Any]]:
    """Return a mode that logs operators with their arguments, and its log."""
    log: list[Any] = []
    kinds = (lib.t.dtype, lib.t.memory_format)

    def plain(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [plain(item) for item in value]
        if isinstance(value, lib.t.Tensor):
            return "tensor"
        return str(value).rpartition(".")[2] if isinstance(value, kinds) else value

    class Log(lib.dispatch.TorchDispatchMode):  # type: ignore[misc,name-defined]
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            kwargs = kwargs or {}
            kept = {k: plain(v) for k, v in kwargs.items() if k not in ("device", "pin_memory")}
            log.append((str(func), plain(args), kept))
            return func(*args, **kwargs)

    return Log(), log


X = [[1.0, 2.0, 3.0], [4.0, 5.0, -6.0], [7.0, 0.8, 9.0]]
Y = [[0.5, 1.0, 2.0], [1.0, 0.3, 4.0], [2.0, 2.0, 1.0]]

FORWARD = """
x + y | x + 1 | 1 + x | x - 1 | 1 - x | 2 / x | x * 2.5 | x ** 2 | 2 ** x | x // 2 | x % 2 | -x
abs(x) | x @ y
t.add(x, y, alpha=2) | x.add(y, alpha=1) | x > 0 | x == y | x != 1 | x <= 2 | ~(x > 0)
(x > 0) & (y > 0)
x[0] | x[0, 1] | x[:, 1] | x[None] | x[..., 0] | x[x > 0] | x[t.tensor([0, 1])] | x[0:2]
x.view(-1) | x.reshape(9) | x.t().reshape(9) | x.permute(1, 0) | x.transpose(0, 1)
x.expand(2, 3, 3) | x.flatten()
x.unsqueeze(0) | x.squeeze(0) | x.narrow(0, 0, 2) | x.split(2) | x.chunk(2) | x.unbind()
x.movedim(0, 1) | x.mT
t.cat([x, y]) | t.stack([x, y]) | t.vstack([x, y]) | t.hstack([x, y]) | t.where(x > 0, x, y)
x.masked_fill(x > 0, 1.0)
x.sum() | x.sum(0) | x.sum((0, 1)) | x.sum(0, keepdim=True) | x.sum(dtype=t.float64) | x.mean()
x.mean(0) | x.prod()
x.max() | x.max(0) | x.amax(0) | x.argmax(0) | x.norm() | x.softmax(0) | x.log_softmax(1)
t.logsumexp(x, 0)
x.to(t.float64) | x.double() | x.int() | x.float() | x.type_as(y) | x.clone() | x.detach()
x.contiguous() | x.data
x[0, 0].item() | float(x[0, 0]) | bool(x[0, 0] > 0) | x.cumsum(0) | x.var(0) | x.std(0)
x.clamp(0, 1) | x.clamp(min=0)
t.zeros(2) | t.ones(2, 3) | t.empty(2) | t.eye(3) | t.randn(2) | t.rand(2)
t.randint(0, 5, (2,)) | t.randperm(4)
t.zeros_like(x) | t.ones_like(x) | t.full_like(x, 2) | x.new_zeros(2) | x.new_full((2,), 1.0)
t.empty_like(x)
t.addmm(x[0], x, y) | t.bmm(x[None], y[None]) | t.matmul(x, y[0]) | t.matmul(x[0], y[0])
t.matmul(x[None], y[None])
t.outer(x[0], y[0]) | t.dot(x[0], y[0]) | t.mv(x, y[0]) | t.lerp(x, y, 0.5) | t.addcmul(x, x, y)
t.roll(x, 1)
F.relu(x) | F.gelu(x) | F.silu(x) | F.elu(x) | F.leaky_relu(x) | F.softplus(x) | F.hardtanh(x)
F.softmax(x, 0)
F.linear(x, y) | F.linear(x, y, y[0]) | F.mse_loss(x, y) | F.cross_entropy(x, t.tensor([0, 1, 2]))
F.layer_norm(x, (3,)) | F.nll_loss(x, t.tensor([0, 1, 2]))
F.embedding(t.tensor([0, 1]), x) | F.layer_norm(x, (3,), y[0], y[1])
x.add_(1) | x.mul_(2).div_(y) | x.copy_(y) | x.zero_() | x.fill_(1.0) | x.square_() | x.relu_()
x.__setitem__(0, y[0])
x.index_select(0, t.tensor([0])) | x.gather(0, t.zeros(1, 3, dtype=t.int64)) | x.tril()
t.diag_embed(x) | x.diagonal()
"""


def programs(text: str) -> list[str]:
    return [each.strip() for each in text.replace("\n", "|").split("|") if each.strip()]


def run(lib: Library, source: str, x: Any, y: Any) -> Any:
    return eval(source, {"t": lib.t, "F": lib.functional, "x": x, "y": y})


@pytest.mark.parametrize("source", programs(FORWARD))
def test_a_dispatch_mode_sees_the_operators_that_pytorch_calls_with_its_arguments(
    source: str,
) -> None:
    def program(lib: Library) -> list[Any]:
        mode, log = seen_by_mode(lib)
        x, y = lib.t.tensor(X), lib.t.tensor(Y)
        with mode:
            run(lib, source, x, y)
        return [each for each in log if each[0] != "aten.lift_fresh.default"]

    assert_alike(program)


BACKWARD = """
x + y | x - y | x * y | x @ y | x.exp() | x.sin() | x.tanh() | x.sigmoid() | x.relu() | x.sum()
x.sum(0) | x.abs()
x.view(9) | x.t() | x.permute(1, 0) | x[0] | x[:, 1] | x.expand(2, 3, 3) | x.unsqueeze(0)
x.clone() | x.neg()
F.linear(x, y) | F.linear(x, y, y[0]) | F.softmax(x, 0) | F.log_softmax(x, 1) | F.gelu(x)
F.silu(x) | x.log()
F.cross_entropy(x, t.tensor([0, 1, 2])) | F.layer_norm(x, (3,)) | t.cat([x, y])
t.where(x > 0, x, y)
(x * y).sum() | F.linear(x, y).relu().sum() | (x.exp() * y).mean() | x.cumsum(0)
x.masked_fill(x > 0, 1.0) | x.cos()
"""


@pytest.mark.parametrize("source", programs(BACKWARD))
def test_a_dispatch_mode_sees_the_operators_of_backward(source: str) -> None:
    def program(lib: Library) -> set[str]:
        mode, log = seen_by_mode(lib)
        x, y = lib.t.tensor(X, requires_grad=True), lib.t.tensor(Y, requires_grad=True)
        result = run(lib, source, x, y)
        start = lib.t.ones_like(result)
        with mode:
            lib.t.autograd.grad(result, [x, y], start, allow_unused=True)
        names = [name.replace(".Scalar", ".Tensor") for name, _, _ in log]
        return {name for name in names if name != "aten.detach.default"}

    assert_alike(program)


def test_modes_see_calls_from_the_innermost_out_and_not_what_their_own_handlers_do() -> None:
    def program(lib: Library) -> list[str]:
        log: list[str] = []

        class Named(lib.dispatch.TorchDispatchMode):  # type: ignore[misc,name-defined]
            def __init__(self, name: str) -> None:
                super().__init__()
                self.name = name

            def __torch_dispatch__(
                self, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                log.append(f"{self.name} {func}")
                if self.name == "inner" and func is lib.t.ops.aten.add.Tensor:
                    return lib.t.mul(*args)
                return func(*args, **(kwargs or {}))

        x = lib.t.tensor([1.0])
        with Named("outer"), Named("inner") as inner:
            x + x
            with inner:
                x - x
        x * x
        return log

    assert_alike(program)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(["pass", "double", "declines", "reenters"]), max_size=4),
    st.sampled_from(["x + y", "x.exp()", "x.sum()", "F.linear(x, y)", "x.add_(y)", "x[0]"]),
)
def test_stacks_of_modes_do_the_same_on_both(kinds: list[str], source: str) -> None:
    def program(lib: Library) -> Any:
        log: list[str] = []

        class Kind(lib.dispatch.TorchDispatchMode):  # type: ignore[misc,name-defined]
            def __init__(self, kind: str) -> None:
                super().__init__()
                self.kind = kind

            def __torch_dispatch__(
                self, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                log.append(f"{self.kind} {func}")
                if self.kind == "declines":
                    return NotImplemented
                result = func(*args, **(kwargs or {}))
                if self.kind == "reenters" and len(log) < 40:
                    with self:
                        lib.t.neg(lib.t.ones(1))
                return (
                    result * 2 if self.kind == "double" and func.name() == "aten::exp" else result
                )

        x, y = lib.t.tensor(X), lib.t.tensor(Y)
        from contextlib import ExitStack

        try:
            with ExitStack() as stack:
                for kind in kinds:
                    stack.enter_context(Kind(kind))
                result = run(lib, source, x, y)
        except TypeError:
            return log, "TypeError"
        return log, result.tolist()

    assert_alike(program)


def logging_tensor(lib: Library) -> tuple[Any, list[str]]:
    """Return the class LoggingTensor, which wraps a tensor and logs what is done to it, and its
    log.
    """
    log: list[str] = []
    t = lib.t

    class LoggingTensor(t.Tensor):  # type: ignore[misc,name-defined]
        __torch_function__ = t._C._disabled_torch_function_impl

        @staticmethod
        def __new__(cls: Any, elem: Any, requires_grad: bool = False) -> Any:
            return t.Tensor._make_wrapper_subclass(
                cls,
                elem.size(),
                strides=elem.stride(),
                storage_offset=elem.storage_offset(),
                dtype=elem.dtype,
                device=elem.device,
                requires_grad=requires_grad,
            )

        def __init__(self, elem: Any, requires_grad: bool = False) -> None:
            self.elem = elem

        @classmethod
        def __torch_dispatch__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            log.append(str(func))

            def unwrap(value: Any) -> Any:
                return value.elem if isinstance(value, cls) else value

            def wrap(value: Any) -> Any:
                return cls(value) if isinstance(value, t.Tensor) else value

            return tree_map(wrap, func(*tree_map(unwrap, args), **tree_map(unwrap, kwargs or {})))

    return LoggingTensor, log


@pytest.mark.parametrize(
    "source",
    programs("""
    x + y | x * 2 | 2 * x | x @ y | x.exp().sum() | x.view(9)[0] | x.t() | x.sum(0) | t.cat([x, y])
    F.linear(x, y, y[0])
    x.relu() | F.softmax(x, 0) | x.max(0) | x[0] | x > 0 | x.to(t.float64) | x.clone()
    x.detach() | t.zeros_like(x)
    x.mean() | x.expand(2, 3, 3) | x.split(1) | F.mse_loss(x, y) | x.t().reshape(9) | x.sigmoid()
    """),
)
def test_a_logging_tensor_sees_below_autograd_and_gets_gradients(source: str) -> None:
    def program(lib: Library) -> Any:
        cls, log = logging_tensor(lib)
        x, y = cls(lib.t.tensor(X), True), cls(lib.t.tensor(Y), True)
        result = run(lib, source, x, y)
        first = result[0] if isinstance(result, list | tuple) else result
        forward, grad_fn = [name for name in log if name != "aten.detach.default"], first.grad_fn
        shown = [
            type(first).__name__,
            tuple(first.shape),
            tuple(first.stride()),
            str(first.dtype).rpartition(".")[2],
        ]
        shown += [first.elem.tolist(), first.requires_grad, grad_fn and grad_fn.name(), forward]
        if first.requires_grad:
            first.sum().backward()
            shown += [type(x.grad).__name__, x.grad.elem.tolist()]
        return shown

    assert_alike(program)


def test_a_write_to_a_wrapper_counts_returns_it_and_is_recorded() -> None:
    def program(lib: Library) -> Any:
        cls, _ = logging_tensor(lib)
        leaf = cls(lib.t.tensor([1.0, 2.0]), True)
        x = leaf * 1
        version = x._version
        result = x.mul_(leaf)
        x.sum().backward()
        return (
            result is x,
            version,
            x._version,
            x.grad_fn.name(),
            x.elem.tolist(),
            leaf.grad.elem.tolist(),
        )

    assert_alike(program)


def test_a_view_of_a_wrapper_counts_the_writes_to_its_base() -> None:
    def program(lib: Library) -> Any:
        cls, _ = logging_tensor(lib)
        x = cls(lib.t.tensor([1.0, 2.0]))
        view = x[0:1]
        x.add_(1)
        return view._version, view._is_view(), view._base is x, view.elem.tolist()

    assert_alike(program)


def test_a_saved_wrapper_that_was_written_since_is_refused() -> None:
    def program(lib: Library) -> Any:
        cls, _ = logging_tensor(lib)
        x = cls(lib.t.tensor([1.0, 2.0]), True)
        y = x * 1
        z = y.exp() * y
        y.add_(1)
        z.sum().backward()

    assert outcome(program, TORCH) == "RuntimeError"
    assert_alike(program)


def test_double_backward_goes_through_wrappers() -> None:
    def program(lib: Library) -> Any:
        cls, _ = logging_tensor(lib)
        x = cls(lib.t.tensor([1.0, 2.0, 3.0]), True)
        (grad,) = lib.t.autograd.grad((x**3).sum(), x, create_graph=True)
        (second,) = lib.t.autograd.grad(grad.sum(), x)
        return type(grad).__name__, grad.elem.tolist(), type(second).__name__, second.elem.tolist()

    assert_alike(program)


def test_a_mode_comes_before_a_subclass() -> None:
    def program(lib: Library) -> Any:
        cls, log = logging_tensor(lib)
        order: list[Any] = []

        class Mode(lib.dispatch.TorchDispatchMode):  # type: ignore[misc,name-defined]
            def __torch_dispatch__(
                self, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                order.append((str(func), [each.__name__ for each in types], len(log)))
                return func(*args, **(kwargs or {}))

        x = cls(lib.t.tensor([1.0]))
        with Mode():
            y = x + 1
        return order, log, y.elem.tolist()

    assert_alike(program)


def test_a_subclass_may_declare_its_operators_unhandled_to_another() -> None:
    def program(lib: Library) -> Any:
        base, _ = logging_tensor(lib)

        class Weak(base):  # type: ignore[misc,valid-type]
            @classmethod
            def __torch_dispatch__(
                cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                return NotImplemented

        strong, weak = base(lib.t.tensor([1.0])), Weak(lib.t.tensor([2.0]))
        return type(strong + weak).__name__, outcome(lambda _: weak + 1, lib)

    assert_alike(program)


@pytest.mark.parametrize("kind", ["no dispatch", "not a tensor", "size"])
def test_a_wrapper_that_cannot_be_is_refused(kind: str) -> None:
    def program(lib: Library) -> Any:
        cls, _ = logging_tensor(lib)
        make = lib.t.Tensor._make_wrapper_subclass

        class Plain(lib.t.Tensor):  # type: ignore[misc,name-defined]
            pass

        match kind:
            case "no dispatch":
                make(Plain, (2,))
            case "not a tensor":
                make(int, (2,))
            case _:
                make(cls, 2)

    assert outcome(program, TORCH) == "TypeError"
    assert_alike(program)


def test_make_subclass_shares_the_data_and_leaves_the_graph() -> None:
    def program(lib: Library) -> Any:
        log: list[str] = []

        class Noted(lib.t.Tensor):  # type: ignore[misc,name-defined]
            __torch_function__ = lib.t._C._disabled_torch_function_impl

            @classmethod
            def __torch_dispatch__(
                cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                log.append(str(func))
                with lib.t._C._DisableTorchDispatch():
                    return func(*args, **(kwargs or {}))

        data = lib.t.tensor([1.0, 2.0], requires_grad=True)
        noted = lib.t.Tensor._make_subclass(Noted, data.detach())
        noted.add_(1)
        total = noted + data
        return (
            log,
            data.tolist(),
            noted.requires_grad,
            type(total).__name__,
            total.tolist(),
            total.requires_grad,
        )

    assert_alike(program)
