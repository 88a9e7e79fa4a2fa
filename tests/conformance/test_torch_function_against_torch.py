"""The same overrides of functions on PyTorch and on Dovetail: subclasses, other classes, and
function modes.

Functions and methods of one name are one object in Dovetail, so names are compared without what
they belong to.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from devices import cpu_only_where
from fresh_interpreter import printed_by
from hypothesis import given, settings
from hypothesis import strategies as st

import dovetail

Program = Callable[[Any], Any]
NAMES = {"__rdiv__": "__rtruediv__", "eq": "__eq__", "bitwise_not": "__invert__"}
NAMES |= {
    "getitem": "__getitem__",
    "setitem": "__setitem__",
    "floor_divide": "__floordiv__",
    "rsub": "__rsub__",
}


def outcome(program: Program, lib: Any) -> Any:
    try:
        return program(lib)
    except Exception as error:  # the type is compared
        return type(error).__name__


def assert_alike(program: Program) -> None:
    assert outcome(program, dovetail) == outcome(program, torch)


def part(lib: Any, name: str) -> Any:
    return importlib.import_module(f"{lib.__name__}.{name}")


def name_of(func: Any) -> str:
    name = getattr(func, "__name__", str(func)).rpartition(".")[2]
    return NAMES.get(name, name)


def seen_by_subclass(lib: Any) -> tuple[Any, list[Any]]:
    log: list[Any] = []

    class Seen(lib.Tensor):  # type: ignore[misc,name-defined]
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            log.append((name_of(func), [each.__name__ for each in types]))
            return super().__torch_function__(func, types, args, kwargs)

    return Seen, log


CALLS = """
x + x | 2 + x | 2 - x | 2 / x | x - 1 | x * x | x / 2 | -x | x > 1 | x == 1 | x != x | x ** 2
2 ** x | x @ x | abs(x)
x // 2 | x % 2 | ~(x > 1) | x.add(x, alpha=2) | t.add(x, 2) | t.add(input=x, other=x)
x.__iadd__(1) | x.square_()
x.shape | x.size() | x.size(0) | x.dim() | x.ndim | x.dtype | x.device | x.numel() | x.stride()
x.is_leaf | x.grad
x.grad_fn | x.requires_grad | x.requires_grad_() | x.real | x.data | x.is_cuda | x.is_meta
x._version | x.retains_grad
x[0] | x.__setitem__(0, 1.0) | len(x) | x[0].item() | float(x[0]) | bool(x[0]) | int(x[0])
x.tolist() | x.numpy()
x.to(t.float64) | x.double() | x.clone() | x.detach() | x.sum() | t.sum(x, 0) | x.view(3, 1)
x.view([3, 1]) | x.cpu()
x.reshape(-1) | t.cat([x, x]) | t.stack((x, t.ones(3))) | t.split(x, 1) | x.max() | x.max(0)
x.unbind() | x.type()
t.zeros_like(x) | x.new_zeros(2) | x.new_tensor([1.0]) | F.linear(x, t.ones(2, 3)) | t.softmax(x, 0)
x.requires_grad_().sum().backward() | t.ops.aten.add.Tensor(x, x) | x.is_floating_point()
t.is_tensor(x) | repr(x)
t.add(x, x, out=x) | x.untyped_storage() | x.data_ptr() | x.is_contiguous()
x.as_subclass(t.Tensor) | 1 in x
t.diagonal(t.outer(x, x)) | reversed(x) | x.type_as(x) | x.expand_as(x) | x.expand(2, 3).mT
x.T is None
t.where(x > 1, x, x)
t.allclose(x, x) | x.permute(0) | x.chunk(2) | t.is_floating_point(x)
t.nn.functional.relu(x).sum() | x.is_inference()
"""


def sources(text: str) -> list[str]:
    return [each.strip() for each in text.replace("\n", "|").split("|") if each.strip()]


def run(lib: Any, source: str, x: Any) -> Any:
    return eval(source, {"t": lib, "F": part(lib, "nn.functional"), "x": x})


@pytest.mark.parametrize(
    "source", cpu_only_where(sources(CALLS), lambda each: "numpy" in each, "NumPy reads the host")
)
@pytest.mark.filterwarnings("ignore:The use of `x.T`")
def test_a_subclass_is_asked_about_every_function_method_and_property(source: str) -> None:
    def program(lib: Any) -> Any:
        cls, log = seen_by_subclass(lib)
        x = lib.tensor([1.0, 2.0, 3.0]).as_subclass(cls)
        log.clear()
        result = run(lib, source, x)
        first = result[0] if isinstance(result, list | tuple) and result else result
        kind = type(first).__name__ if isinstance(first, lib.Tensor) else ""
        return log, kind

    assert_alike(program)


INT_LISTS = """
t.sum(x, -1) | x.sum(1) | x.sum((0, 1)) | x.sum([0]) | t.mean(x, 0, True) | t.permute(x, (1, 0))
t.amax(x, 0) | x.amin(1, True) | t.var(x, 1) | x.std([0]) | t.roll(x, 1, 0) | t.flip(x, [0])
t.logsumexp(x, 1) | t.movedim(x, 0, 1) | x.unflatten(0, (1, 2)) | t.tile(x, (2,)) | x.squeeze(0)
t.reshape(x, [3, 2]) | t.linalg.vector_norm(x, 2, 0)
"""


@pytest.mark.parametrize("source", sources(INT_LISTS))
def test_an_override_gets_ints_and_lists_of_ints_as_they_were_given(source: str) -> None:
    def program(lib: Any) -> Any:
        given: list[Any] = []

        class Seen(lib.Tensor):  # type: ignore[misc,name-defined]
            @classmethod
            def __torch_function__(
                cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                given.append(args[1:])
                return 0

        eval(source, {"t": lib, "x": lib.ones(2, 3).as_subclass(Seen)})
        return given

    assert_alike(program)


PYTHON_FUNCTIONS = """
F.relu(x) | F.relu(x, inplace=False) | F.silu(x) | F.leaky_relu(x, 0.1) | F.elu(x, alpha=2.0)
F.hardtanh(x, -2.0)
F.softmax(x, 1) | F.softmax(x, dim=1) | F.log_softmax(x, -1) | F.dropout(x, 0.5, False)
F.embedding(i, x)
F.layer_norm(x, (3,)) | F.cross_entropy(x, i) | F.cross_entropy(x, i, reduction="sum")
F.nll_loss(x, target=i)
F.binary_cross_entropy_with_logits(x, x, pos_weight=x) | F.gelu(x)
F.linear(x, x)
t.einsum("ij->j", x) | t.einsum("ij,ij->j", x, x) | t.norm(x) | t.norm(x, 1, dim=0)
t.result_type(x, 1)
t.nn.CrossEntropyLoss()(x, i) | t.nn.ReLU()(x)
"""


@pytest.mark.parametrize("source", sources(PYTHON_FUNCTIONS))
@pytest.mark.parametrize("asked", ["mode", "class"])
def test_functions_made_of_operators_are_asked_for_themselves_with_their_arguments(
    source: str, asked: str
) -> None:
    def program(lib: Any) -> Any:
        log: list[Any] = []

        def note(func: Any, types: Any, args: Any, kwargs: Any) -> None:
            kinds = [type(each).__name__ for each in args]
            overriding = [each.__name__ for each in types if each is not lib.Tensor]
            log.append((name_of(func), overriding, kinds, sorted(kwargs or {})))

        class Seen(lib.Tensor):  # type: ignore[misc,name-defined]
            @classmethod
            def __torch_function__(
                cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                note(func, types, args, kwargs)
                return super().__torch_function__(func, types, args, kwargs)

        class Mode(lib.overrides.TorchFunctionMode):  # type: ignore[misc,name-defined]
            def __torch_function__(
                self, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                note(func, types, args, kwargs)
                return func(*args, **(kwargs or {}))

        x = lib.tensor([[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]])
        names = {"t": lib, "F": part(lib, "nn.functional"), "i": lib.tensor([0, 1])}
        if asked == "mode":
            with Mode():
                result = eval(source, names | {"x": x})
        else:
            result = eval(source, names | {"x": x.as_subclass(Seen)})
        return log[-1] if asked == "mode" else log[0], type(result).__name__

    assert_alike(program)


def test_a_plain_subclass_stays_itself_in_results_views_and_lists() -> None:
    def program(lib: Any) -> Any:
        class Plain(lib.Tensor):  # type: ignore[misc,name-defined]
            pass

        x = lib.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True).as_subclass(Plain)
        y = (x * lib.ones(2, 2)).exp()
        results = [
            y,
            y.sum(),
            y[0],
            lib.cat([y, lib.ones(2, 2)]),
            y.T,
            y.data,
            lib.ones(2, 2) + y,
            *y.unbind(),
        ]
        y.sum().backward()
        return [type(each).__name__ for each in results], y.requires_grad, y.grad_fn.name()

    assert_alike(program)


def test_the_gradient_of_a_plain_subclass_is_a_plain_tensor() -> None:
    def program(lib: Any) -> Any:
        class Plain(lib.Tensor):  # type: ignore[misc,name-defined]
            pass

        x = lib.Tensor._make_subclass(Plain, lib.tensor([1.0, 2.0]), True)
        (first,) = lib.autograd.grad((x * x * x).sum(), x, create_graph=True)
        (second,) = lib.autograd.grad(first.sum(), x)
        (x * x).sum().backward()
        return type(x.grad).__name__, x.grad.tolist(), second.tolist()

    assert_alike(program)


def test_unrelated_subclasses_do_not_mix() -> None:
    def program(lib: Any) -> Any:
        one = type("One", (lib.Tensor,), {})
        other = type("Other", (lib.Tensor,), {})
        lib.add(lib.ones(1).as_subclass(one), lib.ones(1).as_subclass(other))

    assert outcome(program, torch) == "TypeError"
    assert_alike(program)


@settings(max_examples=60, deadline=None)
@given(
    st.permutations(["Base", "Derived", "Other", "Plain"]),
    st.sets(st.sampled_from(["Base", "Derived", "Other"])),
)
def test_arguments_are_asked_from_left_to_right_but_subclasses_first(
    order: Sequence[str], declining: set[str]
) -> None:
    def program(lib: Any) -> Any:
        log: list[Any] = []

        class Base:
            @classmethod
            def __torch_function__(
                cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                log.append((cls.__name__, [each.__name__ for each in types]))
                return NotImplemented if cls.__name__ in declining else cls.__name__

        class Derived(Base):
            pass

        class Other:
            __torch_function__ = Base.__dict__["__torch_function__"]

        values: dict[str, Any] = {
            "Base": Base(),
            "Derived": Derived(),
            "Other": Other(),
            "Plain": lib.ones(1),
        }
        try:
            return lib.cat([values[name] for name in order]), log
        except TypeError:
            return "TypeError", log

    assert_alike(program)


class Diagonal:
    """The diagonal tensor of PyTorch's notes on extending it, for either library."""

    handled: dict[Any, Any] = {}  # noqa: RUF012

    def __init__(self, n: int, value: float, lib: Any) -> None:
        self.n, self.value, self.lib = n, value, lib

    def __repr__(self) -> str:
        return f"Diagonal(n={self.n}, value={self.value})"

    def tensor(self) -> Any:
        return self.value * self.lib.eye(self.n)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func not in cls.handled or not all(
            issubclass(each, cls) or hasattr(each, "tolist") for each in types
        ):
            return NotImplemented
        return cls.handled[func](*args, **(kwargs or {}))


def test_a_diagonal_tensor_that_is_no_tensor_joins_in() -> None:
    def program(lib: Any) -> Any:
        class D(Diagonal):
            handled = {  # noqa: RUF012
                lib.mean: lambda value: value.value / value.n,
                lib.add: lambda a, b: (
                    type(a)(a.n, a.value + b.value, a.lib)
                    if type(a) is type(b)
                    else dense(a) + dense(b)
                ),
            }

        def dense(value: Any) -> Any:
            return value.tensor() if isinstance(value, D) else value

        d = D(2, 3.0, lib)
        return [
            lib.mean(d),
            repr(lib.add(d, d)),
            lib.add(d, lib.ones(2, 2)).tolist(),
            lib.add(lib.ones(2, 2), d).tolist(),
            outcome(lambda _: lib.mul(d, 2), lib),
        ]

    assert_alike(program)


def test_a_tensor_carries_its_unit() -> None:
    def program(lib: Any) -> Any:
        class Metres(lib.Tensor):  # type: ignore[misc,name-defined]
            @classmethod
            def __torch_function__(
                cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                powers = [
                    getattr(each, "power", 0) for each in args if isinstance(each, lib.Tensor)
                ]
                name = name_of(func)
                if name in ("add", "sub") and len(set(powers)) > 1:
                    raise ValueError(f"{powers}")
                result = super().__torch_function__(func, types, args, kwargs)
                if isinstance(result, cls):
                    result.power = sum(powers) if name in ("mul", "matmul") else max(powers)
                return result

        def metres(value: list[float], power: int) -> Any:
            made = lib.tensor(value).as_subclass(Metres)
            made.power = power
            return made

        length, area = metres([2.0, 3.0], 1), metres([6.0, 7.0], 2)
        square = length * length
        return [
            (square + area).tolist(),
            (square + area).power,
            (length * 2).power,
            (square * length).sum().power,
            outcome(lambda _: length + area, lib),
        ]

    assert_alike(program)


def test_modes_of_functions_nest_and_do_not_see_themselves() -> None:
    def program(lib: Any) -> Any:
        log: list[Any] = []

        class Named(part(lib, "overrides").TorchFunctionMode):  # type: ignore[misc]
            def __init__(self, name: str) -> None:
                super().__init__()
                self.name = name

            def __torch_function__(
                self, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                log.append((self.name, name_of(func)))
                if self.name == "inner" and name_of(func) == "add":
                    return lib.mul(*args)
                return func(*args, **(kwargs or {}))

        x = lib.tensor([2.0, 3.0])
        with Named("outer"), Named("inner"):
            y = lib.add(x, x)
            z = x.exp().sum().item()
            shape = x.shape
            lib.tensor(1.0)
            x[0]
            x[0] = 5.0
            len(x)
            x.requires_grad_(False)
        lib.add(x, x)
        return log, y.tolist(), round(z, 3), tuple(shape)

    assert_alike(program)


@pytest.mark.parametrize(
    "source",
    sources(
        "t.zeros(2) | t.ones((2, 3)) | t.full((2,), 3.0) | t.eye(2) | t.randn(2) | "
        "t.tensor([1.0]) | t.as_tensor([1.0])"
    ),
)
def test_a_mode_of_functions_sees_factories_and_may_change_their_arguments(source: str) -> None:
    def program(lib: Any) -> Any:
        log: list[str] = []

        class OnMeta(part(lib, "overrides").TorchFunctionMode):  # type: ignore[misc]
            def __torch_function__(
                self, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                log.append(name_of(func))
                return func(*args, **{**(kwargs or {}), "device": "meta"})

        with OnMeta():
            made = eval(source, {"t": lib})
        return log, made.device.type, tuple(made.shape), str(made.dtype).rpartition(".")[2]

    assert_alike(program)


def test_a_mode_that_declines_leaves_the_call_to_the_arguments() -> None:
    def program(lib: Any) -> Any:
        cls, log = seen_by_subclass(lib)

        class Declines(part(lib, "overrides").TorchFunctionMode):  # type: ignore[misc]
            def __torch_function__(
                self, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                return NotImplemented

        x = lib.tensor([1.0]).as_subclass(cls)
        log.clear()
        with Declines():
            outcomes = [
                outcome(lambda _: lib.add(x, x).__class__.__name__, lib),
                outcome(lambda _: lib.ones(1), lib),
            ]
        return outcomes

    assert_alike(program)


def test_subclasses_are_heeded_or_not_as_the_guards_say() -> None:
    def program(lib: Any) -> Any:
        cls, log = seen_by_subclass(lib)
        x = lib.tensor([1.0]).as_subclass(cls)
        log.clear()
        seen = []
        for guard in (lib._C.DisableTorchFunctionSubclass, lib._C.DisableTorchFunction):
            with guard():
                result = x + 1
                seen.append(
                    (
                        type(result).__name__,
                        type(x.exp()).__name__,
                        lib._C._is_torch_function_enabled(),
                    )
                )
        return seen, log, lib._C._is_torch_function_enabled()

    assert_alike(program)


def test_the_questions_of_overrides_have_the_same_answers() -> None:
    def program(lib: Any) -> Any:
        overrides = part(lib, "overrides")
        cls, _ = seen_by_subclass(lib)

        class Duck:
            @classmethod
            def __torch_function__(
                cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                return "duck"

        x, s, d = lib.ones(1), lib.ones(1).as_subclass(cls), Duck()
        p = part(lib, "nn").Parameter(lib.ones(1))

        def twice(value: Any) -> Any:
            if overrides.has_torch_function_unary(value):
                return overrides.handle_torch_function(twice, (value,), value)
            return value + value

        return [
            [overrides.has_torch_function((each,)) for each in (x, s, d, p, 1, None, "a")],
            [overrides.is_tensor_like(each) for each in (x, s, d, p, 1)],
            overrides.has_torch_function_variadic(x, d),
            overrides.has_torch_function_variadic(x, x),
            twice(d),
            twice(x).tolist(),
            type(twice(s)).__name__,
            overrides.is_tensor_method_or_property(lib.Tensor.add),
            overrides.is_tensor_method_or_property(lib.Tensor.shape.__get__),
            overrides.is_tensor_method_or_property(lib.tensor),
            lib.Tensor.add in overrides.get_overridable_functions()[lib.Tensor],
            lib.add in overrides.get_overridable_functions()[lib],
            lib.is_tensor in overrides.get_ignored_functions(),
            overrides.get_testing_overrides()[lib.add](x, x),
            overrides.resolve_name(lib.add).rpartition(".")[2],
            overrides.resolve_name(lib.Tensor.item).rpartition(".")[2],
        ]

    assert_alike(program)


def test_backward_asks_what_is_no_tensor() -> None:
    asked = []

    class Overrides:
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return func.__name__

    for lib in (torch, dovetail):
        value = Overrides()
        asked.append([lib.autograd.backward(value), lib.autograd.backward([value])])
    assert asked == [["backward", "backward"]] * 2


class Asked:
    """No tensor, but it is asked."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> str:
        return "asked"


def test_functions_of_several_operators_ask_once_a_class_of_tensors_overrides() -> None:
    assert torch.nn.functional.mse_loss(Asked(), torch.ones(1)) == "asked"
    program = """
import dovetail
class Asked:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return "asked"
def asked(function, *args):
    try:
        return function(*args) == "asked"
    except (AttributeError, TypeError):
        return False
F, x = dovetail.nn.functional, dovetail.ones(1)
print(asked(F.relu, Asked()), asked(F.mse_loss, Asked(), x))
class Overriding(dovetail.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs)
print(asked(F.relu, Asked()), asked(F.mse_loss, Asked(), x))
"""
    assert printed_by(program).split() == ["True", "False", "True", "True"]
