"""`inspect.signature` says what public functions, methods and operators take: the names of their
schemas, all accepted, and none of the parameters that only make calls fast.
"""

from __future__ import annotations

import inspect
import os
import pydoc
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from public_callables import MODULES, generated, public

import dovetail
from dovetail import Tensor
from dovetail.library import custom_op
from dovetail.testing import OpInfo, op_infos
from dovetail_aten import functions
from dovetail_aten.templates.python_function import variadic_argument
from dovetail_dispatcher.table import registry

INFOS = list(op_infos("aten"))
SPARE = {"surplus", "extra", "unknown", "named", "old1", "old2", "old3"}


def callables() -> Iterator[tuple[str, Any]]:
    for module in [*MODULES, "Tensor"]:
        for name, value in public(module).items():
            if not inspect.isclass(value):
                yield f"{module}.{name}".lstrip("."), value


def parameters(function: Any) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(function).parameters)


def test_every_public_callable_has_a_signature_without_spare_parameters() -> None:
    spare, seen = {}, 0
    for name, value in callables():
        found = parameters(value)
        last = [*found.values()][-1:]
        seen += 1
        if SPARE & found.keys() or (last and last[0].name == "named"):
            spare[name] = str(inspect.signature(value))
    assert spare == {}
    assert seen > 1500


def test_generated_functions_show_the_names_of_their_schemas_alone() -> None:
    differing = {}
    for name, function in generated():
        packet = getattr(dovetail.ops.aten, function.__name__)
        schemas = [op.schema for op in registry.operators[packet._qualified_op_name].values()]
        known = {
            {"self": "input", "from": "from_"}.get(a.name, a.name)
            for schema in schemas
            for a in schema.arguments
        }
        found = parameters(function)
        if not found.keys() <= known | {"out"}:
            differing[name] = sorted(found.keys() - known)
        needed = [p for p in found.values() if p.default is p.empty and p.kind < p.VAR_POSITIONAL]
        for schema in schemas if len(schemas) == 1 else ():
            required = [a for a in schema.arguments if not a.has_default_value()]
            required = [a for a in required if a is not variadic_argument(schema)]
            assert len(needed) == len([a for a in required if not a.kwarg_only]), name
            assert len(found) == len(schema.arguments), name
    assert differing == {}


def described(result: Any) -> Any:
    if isinstance(result, Tensor):
        return result.shape, result.dtype
    return [described(each) for each in result] if isinstance(result, tuple | list) else result


def with_names(function: Any, given: dict[str, Any]) -> Any:
    """Call a function with each argument under the name that its signature shows."""
    shown = parameters(function)
    assert given.keys() <= shown.keys(), function
    only_by_position = [n for n in given if shown[n].kind is inspect.Parameter.POSITIONAL_ONLY]
    rest = {name: value for name, value in given.items() if name not in only_by_position}
    return described(function(*[given[name] for name in only_by_position], **rest))


@pytest.mark.operators("info", INFOS)
def test_the_names_of_a_signature_are_accepted(info: OpInfo) -> None:
    device = dovetail.get_default_device()
    dtype = next(iter([each for each in (dovetail.float32, *info.dtypes) if each in info.dtypes]))
    packet = info.op.overloadpacket
    function = getattr(functions, info.operator.base_name, None)
    has_out = any([argument.is_out for argument in info.operator.schema.arguments])
    forms: dict[Any, Any] = {}
    for sample in info.sample_inputs(device, dtype):
        bound = inspect.signature(info.op).bind(*sample.arguments, **sample.kwargs)
        forms.setdefault((*bound.arguments, *map(type, bound.arguments.values())), sample)

    def arguments(sample: Any, name_of_self: str) -> dict[str, Any]:
        fresh = sample.transform(lambda each: each.clone())
        bound = inspect.signature(info.op).bind(*fresh.arguments, **fresh.kwargs)
        return {name_of_self if n == "self" else n: v for n, v in bound.arguments.items()}

    for sample in forms.values():
        result = with_names(info.op, arguments(sample, "self"))
        if info.operator.base_name == "stft":
            continue  # the others take its overload that pads, which refuses some of the arguments
        other = with_names(packet, arguments(sample, "self"))
        if len(packet.overloads()) == 1:
            assert result == other
        if function is not None and not has_out:
            with_names(function, arguments(sample, "input"))


def test_signatures_of_what_is_called_often() -> None:
    def shown(function: Any) -> str:
        return str(inspect.signature(function))

    x = dovetail.ones(2)
    assert shown(dovetail.add) == "(input, other, *, alpha=1, out=None)"
    assert shown(x.add) == "(other, *, alpha=1, out=None)"
    assert shown(dovetail.ops.aten.add.Tensor) == "(self, other, *, alpha=1)"
    assert shown(dovetail.ops.aten.relu) == "(self, *, out=...)"
    assert shown(dovetail.sum) == "(input, dim=None, keepdim=False, *, dtype=None, out=None)"
    assert shown(dovetail.max) == "(input, dim=..., keepdim=False, *, other=..., out=None)"
    assert shown(x.reshape) == "(*shape)"
    assert shown(x.view) == "(*size, dtype=...)"
    assert shown(x.uniform_) == "(from_=0.0, /, to=1.0, *, generator=None)"
    assert shown(dovetail.linalg.svd) == "(A, full_matrices=True, *, driver=None, out=None)"
    assert shown(dovetail.nn.functional.conv2d).startswith("(input, weight, bias=None, stride=")
    assert list(parameters(dovetail.zeros_like)) == [
        *("input", "requires_grad", "memory_format", "dtype", "layout", "device", "pin_memory")
    ]
    assert list(parameters(dovetail.signal.windows.hann))[:3] == ["M", "sym", "dtype"]


def test_a_custom_op_shows_its_function_and_a_schema_that_differs() -> None:
    def twice(x: Tensor, n: int = 2) -> Tensor:
        """Return `n` times `x`."""
        return x * n

    op = custom_op("signatures::twice", twice, mutates_args=())
    schema = "(Tensor y, int times=3) -> Tensor"
    other = custom_op("signatures::other", twice, mutates_args=(), schema=schema)
    try:
        assert inspect.signature(op) == inspect.signature(twice)
        assert op.__doc__ == twice.__doc__
        assert op.__name__ == "twice"
        assert str(inspect.signature(dovetail.ops.signatures.twice.default)) == "(x, n=2)"
        assert str(inspect.signature(other)) == "(y, times=3)"
        assert pydoc.plain(pydoc.render_doc(op)).splitlines()[3].startswith(" |  twice(x: ")
    finally:
        op._lib._destroy()
        other._lib._destroy()


def test_a_late_overload_shows_in_the_signature_of_its_packet() -> None:
    library = dovetail.library.Library("late_signature", "DEF")
    try:
        library.define("f(Tensor x) -> Tensor")
        packet = dovetail.ops.late_signature.f
        assert str(inspect.signature(packet)) == "(x)"
        library.define("f.scaled(Tensor x, float scale) -> Tensor")
        assert str(inspect.signature(packet)) == "(x, scale=...)"
        assert "late_signature::f.scaled(Tensor x, float scale) -> Tensor" in packet.__doc__
    finally:
        library._destroy()
    assert str(inspect.signature(type(packet))).startswith("(qualified_name")


@pytest.mark.parametrize("function", ["add", "sum", "ops.aten.add", "Tensor.reshape"])
def test_help_begins_with_the_signature(function: str) -> None:
    value: Any = dovetail
    for part in function.split("."):
        value = getattr(value, part)
    lines = pydoc.plain(pydoc.render_doc(value)).splitlines()
    expected = f"{value.__name__}{inspect.signature(value)}"
    assert expected in (lines[2], lines[3].strip())


def test_signatures_are_the_same_without_compiled_code() -> None:
    program = (
        "import inspect, dovetail\n"
        "from dovetail_aten import functions\n"
        "from public_callables import generated\n"
        "for name, function in generated():\n"
        "    print(name, inspect.signature(function))\n"
    )
    texts = []
    for native in ("1", "0"):
        path = str(Path(__file__).parent / "support")
        environment = os.environ | {"DOVETAIL_NATIVE": native, "PYTHONPATH": path}
        command = [sys.executable, "-c", program]
        found = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
        texts.append(found.stdout)
    assert texts[0] == texts[1]
    assert len(texts[0].splitlines()) > 1000
