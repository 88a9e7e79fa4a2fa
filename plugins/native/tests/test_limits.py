"""What the compiled core has no room or no instruction for runs as Python text, with its results;
a core that does not fit the distribution is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dovetail
from dovetail.library import Library, _scoped_library
from dovetail_dispatcher import compiled_code
from dovetail_dispatcher.calls import Value

core = pytest.importorskip("dovetail_native._core", reason="built without a C compiler")

from dovetail_native import loading  # noqa: E402  # after the core
from dovetail_native.assembler import Assembler, NotLoweredError  # noqa: E402
from dovetail_native.entries import compiled_accessor, compiled_entry  # noqa: E402
from dovetail_native.kernel_table import compiled_operator  # noqa: E402

COUNTS = sorted(
    {
        *[1, 3, core.MAX_OPERANDS - 1, core.MAX_OPERANDS, core.MAX_OPERANDS + 1],
        *[core.MAX_PARAMETERS, core.MAX_PARAMETERS + 1],
        *[core.MAX_REGISTERS - 1, core.MAX_REGISTERS, core.MAX_REGISTERS + 1],
    }
)


@pytest.fixture
def library() -> Iterator[Library]:
    with _scoped_library("limits", "DEF") as made:
        yield made


def weighted(values: Any) -> Any:
    return sum([(place + 1) * value for place, value in enumerate(values)])


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("kind", ["tensors", "numbers", "list", "keywords"])
def test_any_number_of_arguments_has_the_result_of_the_text(
    library: Library, count: int, kind: str
) -> None:
    names = [f"a{place}" for place in range(count)]
    declared = {
        "tensors": ", ".join([f"Tensor {name}" for name in names]),
        "numbers": ", ".join(["Tensor x", *[f"float {name}" for name in names]]),
        "list": "Tensor[] values",
        "keywords": ", ".join(["Tensor x, *", *[f"float {name}=1.0" for name in names]]),
    }[kind]
    kernels: dict[str, Callable[..., Any]] = {
        "tensors": lambda *values: weighted(values),
        "numbers": lambda x, *values: x * weighted(values),
        "list": weighted,
        "keywords": lambda x, **values: x * weighted([values.get(name, 1.0) for name in names]),
    }
    library.define(f"f({declared}) -> Tensor")
    library.impl("f", kernels[kind], "CompositeImplicitAutograd")
    numbers = [float(place % 7) for place in range(count)]
    tensors = [dovetail.tensor([number, 1.0]) for number in numbers]
    x = dovetail.ones(2, requires_grad=True)
    tensors[0] = tensors[0].requires_grad_()
    args: list[Any] = {"tensors": tensors, "numbers": [x, *numbers], "list": [tensors]}.get(
        kind, [x]
    )
    kwargs = dict(zip(names, numbers, strict=True)) if kind == "keywords" else {}
    for _ in range(3):  # without a route, with one, and again
        result = dovetail.ops.limits.f(*args, **kwargs)
        assert result[0].item() == weighted(numbers)
    result[0].backward()
    leaf = tensors[0] if kind in ("tensors", "list") else x
    assert leaf.grad.tolist() == [1.0 if leaf is not x else weighted(numbers), 0.0]


def test_values_beyond_the_registers_are_not_lowered() -> None:
    values = tuple([Value(f"v{place}") for place in range(core.MAX_REGISTERS + 1)])
    assembler = Assembler(values[:-1])
    with pytest.raises(NotLoweredError):
        assembler.register(values[-1])
    with pytest.raises(NotLoweredError):
        assembler.block((values[1], values[0]))
    assert assembler.block(values[2:5]) == 2
    operand = assembler.at(0)
    assembler.emit("CALL", operands=[operand] * core.MAX_OPERANDS)
    with pytest.raises(NotLoweredError):
        assembler.emit("CALL", operands=[operand] * (core.MAX_OPERANDS + 1))


def test_only_ufuncs_with_a_loop_of_single_precision_round_once() -> None:
    add: Any = compiled_operator("rounded_once", np.add)
    assert add is not np.add
    for single in (np.array(2.0, np.float32), 2.0):
        assert add(np.float16([1.0]), single).dtype == np.float16
    for reference in (len, np.left_shift, np.frexp):
        assert compiled_operator("rounded_once", reference) is reference
    assert compiled_operator("an operator that is not there", len) is len


@pytest.mark.parametrize("name", ["VERSION", "PLAN_FORMAT", "source_hash"])
def test_a_core_that_does_not_fit_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert loading.load_core() is core
    monkeypatch.setattr(loading, name, (lambda root: "another") if "hash" in name else "another")
    if name == "source_hash" and not loading.os.path.isdir(f"{loading._ROOT}/core"):
        pytest.skip("not installed from a checkout")
    with pytest.raises(ImportError, match=r"_core\."):
        loading.load_core()


def test_an_installation_without_a_core_fills_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    import dovetail_native

    monkeypatch.setattr(loading, "find_spec", lambda name: None)
    assert loading.load_core() is None
    monkeypatch.setattr(dovetail_native, "is_required", lambda: False)
    dovetail_native.dovetail_load()
    monkeypatch.setattr(dovetail_native, "is_required", lambda: True)
    with pytest.raises(ImportError, match="without a C compiler"):
        dovetail_native.dovetail_load()


def test_what_is_no_function_of_python_has_no_entry() -> None:
    assert compiled_entry(len, lambda text: text) is len
    assert compiled_accessor("is_contiguous", len) is len
    assert compiled_accessor("no accessor", weighted) is weighted


@pytest.mark.skipif(not compiled_code.is_in_force(), reason="it is switched off")
def test_functions_for_other_libraries_come_in_one_capsule() -> None:
    capsule = dovetail.Tensor.__dlpack_c_exchange_api__  # type: ignore[attr-defined]
    assert type(capsule).__name__ == "PyCapsule"
    assert dovetail.Tensor.__dlpack_c_exchange_api__ is capsule  # type: ignore[attr-defined]


@pytest.mark.parametrize("order", ["rows", "columns", "stepped"])
def test_the_gradient_of_a_leaf_lies_as_the_leaf(order: str) -> None:
    made = dovetail.arange(24.0).reshape(4, 6)
    leaf = {"rows": made, "columns": made.t(), "stepped": made[:, ::2]}[order].detach()
    leaf.requires_grad_()
    weights = dovetail.arange(float(leaf.numel())).reshape(leaf.shape)
    for _ in range(3):
        leaf.grad = None
        (leaf * weights).sum().backward()
        assert leaf.grad.tolist() == weights.tolist()
        dense = order != "stepped"
        assert leaf.grad.stride() == (leaf.stride() if dense else weights.stride())
