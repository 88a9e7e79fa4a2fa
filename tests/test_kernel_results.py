"""Kernels that return wrong things: the error names the kernel, or the call returns exactly what
the schema says. Kernels of every kind, over random returns and results.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dovetail
from dovetail.library import Library, custom_op, register_fake, register_kernel
from dovetail.utils._python_dispatch import TorchDispatchMode

pytestmark = pytest.mark.cpu_only(reason="its kernels are NumPy's")

CALLS = int(os.environ.get("DOVETAIL_CALLS", "400"))
FIRST = int(os.environ.get("DOVETAIL_FIRST_CALL", "0"))

Kernel = Callable[..., Any]


@pytest.fixture
def library() -> Iterator[Library]:
    made = Library("results", "FRAGMENT")
    yield made
    made._destroy()


def call(library: Library, schema: str, kernel: Kernel, *args: Any, array: bool = True) -> Any:
    library.define(schema)
    name = schema.partition("(")[0]
    (library.array_impl if array else library.impl)(name, kernel, "CPU")
    return getattr(dovetail.ops.results, name)(*args)


def x() -> dovetail.Tensor:
    return dovetail.arange(6.0).reshape(2, 3).clone()


# -- what is wrong, kind by kind -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("returns", "kernel", "words"),
    [
        ("(Tensor, Tensor)", lambda x: -x, "is not an instance of 'sequence'"),
        ("(Tensor, Tensor)", lambda x: (-x, +x, x * 2), "returned 3 values, but its schema has 2"),
        ("(Tensor, Tensor)", lambda x: (-x,), "returned 1 values, but its schema has 2"),
        ("Tensor", lambda x: (-x, -x), "Unable to cast (array("),
        ("Tensor", lambda x: None, "Unable to cast None to Tensor"),
        ("Tensor", lambda x: "text", "Unable to cast 'text' to Tensor"),
        ("Tensor", lambda x: 2.5, "Unable to cast 2.5 to Tensor"),
        ("Tensor", lambda x: np.array(["text"]), "of dtype <U4, which tensors on cpu cannot have"),
        ("Tensor", lambda x: np.ma.masked_array(-x, x > 1), "a numpy.ma.MaskedArray"),
        ("Tensor[]", lambda x: -x, "to Tensor[]"),
        ("Tensor[]", lambda x: [-x, None], "Unable to cast None to Tensor"),
        ("()", lambda x: -x, "to return None but it returned something else"),
        ("int", lambda x: "text", "Unable to cast 'text' to int"),
        ("int", lambda x: np.float32(2.5), "of shape () and dtype float32> to int"),
        ("bool", lambda x: None, "Unable to cast None to bool"),
        ("Tensor", lambda x: x, "returned an array that shares memory with one of its arguments"),
        ("Tensor", lambda x: x[:1], "shares memory with one of its arguments"),
        ("(Tensor, Tensor)", lambda x: (y := -x, y), "or other results"),
        ("Tensor[]", lambda x: [-x, x.T], "shares memory with one of its arguments"),
    ],
)
def test_a_wrong_result_of_an_array_kernel_is_refused_and_the_kernel_named(
    returns: str, kernel: Kernel, words: str, library: Library
) -> None:
    for _ in range(2):  # every call, not the first alone
        with pytest.raises((RuntimeError, TypeError), match=re.escape(words)) as caught:
            if not hasattr(dovetail.ops.results, "f"):
                call(library, f"f(Tensor x) -> {returns}", kernel, x())
            dovetail.ops.results.f(x())
        place = f"{__file__}:{kernel.__code__.co_firstlineno}"
        assert place in str(caught.value)
        assert "registered at CPU" in str(caught.value)
        assert "results::f" in str(caught.value)


def test_a_view_that_an_array_kernel_returns_lies_in_the_memory_of_its_argument(
    library: Library,
) -> None:
    with pytest.raises(RuntimeError, match="returned an array in memory of its own"):
        call(library, "copied(Tensor(a) x) -> Tensor(a)", np.copy, x())
    assert call(library, "whole(Tensor(a) x) -> Tensor(a)", lambda x: x, x()).shape == (2, 3)


def test_an_array_kernel_that_writes_several_arguments_is_refused(library: Library) -> None:
    with pytest.raises(RuntimeError, match="Register a kernel that takes tensors"):
        call(library, "f(Tensor(a!) x, Tensor(b!) y) -> ()", lambda x, y: (y, x), x(), x())
    with pytest.raises(RuntimeError, match="Register a kernel that takes tensors"):
        call(library, "g(Tensor(a!) x) -> Tensor", lambda x: x * 2, x())


def test_a_wrong_array_is_written_nowhere(library: Library) -> None:
    written, out = x(), x()
    with pytest.raises(RuntimeError, match="Unable to cast None to Tensor"):
        call(library, "f_(Tensor(a!) x) -> Tensor(a!)", lambda x: None, written)
    with pytest.raises(RuntimeError, match=r"result type Double can't be cast to .* Long"):
        integers = dovetail.arange(3)
        call(library, "g_(Tensor(a!) x) -> Tensor(a!)", lambda x: x + 0.5, integers)
    library.define("h(Tensor x, *, Tensor(a!) a, Tensor(b!) b) -> (Tensor(a!), Tensor(b!))")
    library.array_impl("h", np.negative, "CPU")
    with pytest.raises(RuntimeError, match=r"needs 2 arrays\. Return a tuple of 2"):
        dovetail.ops.results.h(x(), a=out, b=x())
    assert written.tolist() == out.tolist() == x().tolist()
    assert (written._version, out._version) == (0, 0)


def test_a_kernel_returns_the_very_argument_that_its_schema_says(library: Library) -> None:
    with pytest.raises(RuntimeError, match="must return what its schema says that it writes"):
        call(
            library, "f_(Tensor(a!) x) -> Tensor(a!)", lambda x: x.neg_().clone(), x(), array=False
        )


def test_a_kernel_of_a_base_operator_computes_in_the_dtype_of_its_rule() -> None:
    library = Library("aten", "IMPL")
    try:
        library.array_impl("hypot", lambda a, b: np.hypot(a, b).astype("float64"), "CPU")
        with pytest.raises(TypeError, match="has dtype float32 by its rule of promotion"):
            dovetail.hypot(dovetail.ones(2), dovetail.ones(2))
    finally:
        library._destroy()
    assert dovetail.hypot(dovetail.ones(2), dovetail.ones(2)).dtype is dovetail.float32


def test_a_fake_that_returns_data_is_refused() -> None:
    @custom_op("results::faked", mutates_args=())
    def faked(x: dovetail.Tensor) -> dovetail.Tensor:
        return x.clone()

    faked.register_fake(lambda x: dovetail.zeros(x.shape))
    try:
        with pytest.raises(RuntimeError, match="is a fake, and returned a tensor on device cpu"):
            faked(dovetail.ones(2, device="meta"))
    finally:
        faked._lib._destroy()


class Wrong(TorchDispatchMode):
    """Returns something else than tensors."""

    def __init__(self, result: Any) -> None:
        super().__init__()
        self.result = result

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self.result


@pytest.mark.parametrize("result", ["text", 3, [1]])
def test_a_mode_that_returns_something_else_is_named(result: Any) -> None:
    tensor = x()
    with Wrong(result), pytest.raises(RuntimeError, match=r"Wrong\.__torch_dispatch__ at .*\.py:"):
        tensor.neg()
    with (
        Wrong(result),
        pytest.raises((RuntimeError, TypeError), match=r"Wrong\.__torch_dispatch__"),
    ):
        tensor.max(0)


# -- hunting ---------------------------------------------------------------------------------------

RETURNS = ("Tensor", "Tensor?", "Tensor[]", "Tensor?[]", "int", "float", "bool", "str", "Scalar")
RETURNS += ("int[]", "float[]", "float?", "str?", "bool[]", "complex")

KINDS = ("array", "impl", "default", "custom_op", "register_kernel", "fake", "mode", "fallback")


def wrong_thing(rng: random.Random, make: Callable[[], Any], given: Any, depth: int = 0) -> Any:
    """Return a random result: right and wrong tensors or arrays, numbers, text, and sequences."""
    leaves: list[Callable[[], Any]] = [
        *[make] * 5,
        lambda: given,
        lambda: None,
        lambda: rng.choice([0, 3, -1, True, 2.5, 2j, float("nan"), 2**70, "", "text", b"bytes"]),
        lambda: np.float32(1.5),
        lambda: np.int64(7),
        lambda: np.array([object()], dtype=object),
        lambda: np.zeros(2, "datetime64[s]"),
        lambda: np.ma.masked_array([1.0, 2.0], [True, False]),
        lambda: {"a": make()},
        lambda: NotImplemented,
        object,
        lambda: iter([make(), make()]),
        lambda: dovetail.float32,
        lambda: make()[:1],
    ]
    if depth < 2 and rng.random() < 0.45:
        items = [wrong_thing(rng, make, given, depth + 1) for _ in range(rng.randrange(4))]
        return rng.choice([tuple, list])(items)
    return rng.choice(leaves)()


def is_by_schema(value: Any, declared: str, device: str) -> bool:
    """Return whether `value` is what a schema type says, written anew."""
    if declared == "Tensor?" or declared == "Tensor":
        # PyTorch's undefined tensor is None, from kernels that take tensors.
        return value is None or (
            isinstance(value, dovetail.Tensor)
            and value.device.type == device
            and value.dtype.itemsize > 0
            and tuple(value.array.shape) == tuple(value.shape)
            and (device == "meta" or value.dtype is dovetail.from_numpy(value.array).dtype)
        )
    if declared.endswith("[]"):
        element = declared[:-2]
        return type(value) is list and all(
            is_by_schema(v, element, device) and (v is not None or element.endswith("?"))
            for v in value
        )
    if declared.endswith("?"):
        return value is None or is_by_schema(value, declared[:-1], device)
    if declared == "Scalar":
        return type(value) in (int, float, bool, complex)
    classes = {"int": int, "float": float, "bool": bool, "str": str, "complex": complex}
    return type(value) is classes[declared]


def made_operator(
    library: Library, kind: str, name: str, returns: str, kernel: Kernel
) -> tuple[Kernel, str]:
    """Return an operator with `kernel`, and the device that it is to be called on."""
    schema = f"(Tensor x) -> {returns}"
    if kind in ("custom_op", "register_kernel"):
        right = custom_op(f"results::{name}", kernel, mutates_args=(), schema=schema)
        if kind == "register_kernel":
            register_kernel(right, "cpu")(kernel)
        library._changes.extend(right._lib._changes)
        right._lib._changes.clear()
        return right, "cpu"
    library.define(name + schema)
    match kind:
        case "array":
            library.array_impl(name, kernel, "CPU")
        case "fake":
            register_fake(f"results::{name}", kernel, lib=library)
        case "default":
            library.impl(name, kernel, "CompositeExplicitAutograd")
        case "mode":
            library.impl(name, lambda x: x, "CPU")
        case "fallback":
            fallen_back[:] = [kernel]
        case _:
            library.impl(name, kernel, "CPU")
    return getattr(dovetail.ops.results, name).default, "meta" if kind == "fake" else "cpu"


fallen_back: list[Kernel] = []
"""What the fallback at CPU runs."""


@pytest.fixture
def fallback() -> Iterator[None]:
    made = Library("_", "IMPL")
    made.fallback(lambda op, x: fallen_back[0](x), "CPU")
    yield
    made._destroy()


@pytest.mark.usefixtures("fallback")
def test_whatever_kernels_return_is_refused_or_what_the_schema_says(library: Library) -> None:
    refused = 0
    for number in range(FIRST, FIRST + CALLS):
        rng = random.Random(number)
        kind = rng.choice(KINDS)
        types = [rng.choice(RETURNS) for _ in range(rng.choice([0, 1, 1, 1, 2, 2, 3]))]
        returns = types[0] if len(types) == 1 else f"({', '.join(types)})"
        device = "meta" if kind == "fake" else "cpu"
        make: Callable[[], Any] = (
            (lambda: np.arange(4.0, dtype="float32"))
            if kind == "array"
            else (lambda device=device: dovetail.ones(4, device=device))
        )
        seed = rng.randrange(2**32)

        def kernel(x: Any, seed: int = seed, make: Any = make) -> Any:
            return wrong_thing(random.Random(seed), make, x)

        operator, device = made_operator(library, kind, f"f{number}", returns, kernel)
        argument = dovetail.ones(2, 3, device=device)
        what = f"DOVETAIL_FIRST_CALL={number}: {kind} kernel of {returns}"
        try:
            if kind == "mode":
                with Wrong(kernel(argument)):
                    result = operator(argument)
            else:
                result = operator(argument)
        except (RuntimeError, TypeError) as error:
            refused += 1
            named = "Wrong" if kind == "mode" else f"{__file__}:"
            assert named in str(error), f"{what}: {error}"
            assert f"f{number}" in str(error), f"{what}: {error}"
            continue
        if not types:
            assert result is None, what
            continue
        results = (result,) if len(types) == 1 else result
        assert len(types) == 1 or type(result) is tuple, what
        for value, declared in zip(results, types, strict=True):
            assert is_by_schema(value, declared, device), f"{what}: {value!r}"
            if kind == "array" and declared == "Tensor":
                assert value is not None, what
    assert CALLS // 4 < refused < CALLS
