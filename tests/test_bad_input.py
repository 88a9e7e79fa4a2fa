"""Bad input: each gives an error that says what, where and what to do, and changes nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dovetail
from dovetail.library import Library, _scoped_library


def snapshot() -> dict[str, str]:
    """Return the dispatch table of every operator outside the base library."""
    names = [n for n in dovetail._C._dispatch_get_all_op_names() if not n.startswith("aten::")]
    return {name: dovetail._C._dispatch_dump(name) for name in names}


@pytest.fixture
def library():
    with _scoped_library("bad", "DEF") as made:
        made.define("f(Tensor x, int n=1) -> Tensor")
        made.impl("f", lambda x, n=1: x.clone(), "CPU")
        yield made


def error_of(kind: type[Exception], action) -> str:
    """Run `action`, check that it raises exactly `kind` and leaves the operator table as it was,
    return the text.
    """
    before = snapshot()
    with pytest.raises(kind) as caught:
        action()
    assert snapshot() == before
    return str(caught.value)


def test_a_malformed_schema_is_shown_with_a_caret_at_the_fault(library: Library):
    text = error_of(dovetail.library.SchemaError, lambda: library.define("g(Tensor x -> Tensor"))
    assert "g(Tensor x -> Tensor" in text
    assert "<--- HERE" in text


def test_a_duplicate_definition_names_both_places(library: Library):
    text = error_of(RuntimeError, lambda: library.define("f(Tensor x) -> Tensor"))
    assert (
        "Tried to register an operator (bad::f(Tensor x) -> Tensor) with the same name and "
        "overload name" in text
    )
    assert text.count("test_bad_input.py:") == 2


def test_an_unknown_dispatch_key_is_named_with_the_nearest_known_one(library: Library):
    text = error_of(RuntimeError, lambda: library.impl("f", lambda x: x, "CPUU"))
    assert "could not parse dispatch key: CPUU. Did you mean 'CPU'?" in text


@pytest.mark.parametrize("types", [("cpu", "bogus"), (None, "bogus"), ("cpu", "meta:0")])
def test_a_kernel_for_several_devices_is_registered_for_all_or_none(types: tuple[str, ...]):
    operator = dovetail.library.custom_op(
        "bad::g", lambda x: x.clone(), mutates_args=(), schema="(Tensor x) -> Tensor"
    )
    try:
        before = dict(operator._backend_fns)
        error_of(RuntimeError, lambda: operator.register_kernel(types, lambda x: x + 1))
        error_of(
            RuntimeError, lambda: dovetail.library.register_kernel("bad::g", types, lambda x: x + 1)
        )
        assert operator._backend_fns == before
    finally:
        operator._lib._destroy()


def test_a_kernel_for_several_keys_is_registered_for_all_or_none(library: Library):
    library.define("implicit(Tensor x) -> Tensor")
    library.impl("implicit", lambda x: x.clone(), "CompositeImplicitAutograd")
    text = error_of(
        RuntimeError,
        lambda: dovetail.library.impl("bad::implicit", ("cpu", "Meta"), lambda x: x, lib=library),
    )
    assert "meta kernel" in text


def test_an_argument_of_the_wrong_type_is_named_with_its_position_and_the_declaration(
    library: Library,
):
    text = error_of(RuntimeError, lambda: dovetail.ops.bad.f(dovetail.ones(2), 1.5))
    assert (
        "bad::f() Expected a value of type 'int' for argument 'n' but instead found type 'float'."
        in text
    )
    assert "Position: 1\nValue: 1.5\nDeclaration: bad::f(Tensor x, int n=1) -> Tensor" in text


def test_a_missing_kernel_says_which_keys_have_one_and_where(library: Library):
    text = error_of(
        NotImplementedError, lambda: dovetail.ops.bad.f(dovetail.ones(2, device="meta"))
    )
    assert "Could not run 'bad::f' with arguments from the 'Meta' backend" in text
    assert "only available for these backends: [CPU]" in text
    assert "test_bad_input.py:" in text


def test_shapes_that_do_not_broadcast_are_shown():
    text = error_of(RuntimeError, lambda: dovetail.ones(2) + dovetail.ones(3))
    assert (
        "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0"
        in text
    )


def test_an_integer_tensor_cannot_require_gradients():
    x = dovetail.arange(3)
    text = error_of(RuntimeError, lambda: setattr(x, "requires_grad", True))
    assert "Only Tensors of floating point and complex dtype can require gradients" in text
    assert not x.requires_grad


@pytest.mark.parametrize(
    "content", [b"", b"not a tensor file", b"\x08\x00\x00\x00\x00\x00\x00\x00{]      "]
)
def test_a_corrupt_file_is_named(tmp_path: Path, content: bytes):
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    with pytest.raises(RuntimeError, match=r"model\.safetensors"):
        dovetail.load(path)


def test_a_truncated_file_is_named(tmp_path: Path):
    path = tmp_path / "model.safetensors"
    dovetail.save({"w": dovetail.ones(100)}, path)
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(RuntimeError, match=r"model\.safetensors"):
        dovetail.load(path)


# -- plugins, each in a process of its own with throw-away distributions ---------------------------


def distribution(folder: Path, name: str, entry_points: str, module: str, source: str) -> None:
    """Write an installed distribution into `folder`."""
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "RECORD").write_text("")
    (info / "entry_points.txt").write_text(entry_points)
    (folder / f"{module}.py").write_text(source)


def run(folder: Path, program: str) -> str:
    """Run `program` with the distributions in `folder` installed, and return what it prints."""
    source = f"import sys; sys.path.insert(0, {str(folder)!r})\n{program}"
    result = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_a_plugin_that_raises_at_import_breaks_only_itself(tmp_path: Path):
    distribution(
        tmp_path,
        "brittle",
        "[dovetail.libraries]\nbrittle = brittle_plugin\n",
        "brittle_plugin",
        "1 / 0\n",
    )
    printed = run(
        tmp_path,
        """
import dovetail
print((dovetail.ones(2) + 1).tolist())
try:
    dovetail.ops.brittle.f
except Exception as error:
    print(type(error).__name__, error, "| cause:", repr(error.__cause__))
print((dovetail.ones(2) * 3).tolist())
""",
    )
    assert "[2.0, 2.0]" in printed
    assert "[3.0, 3.0]" in printed
    assert "PluginError" in printed
    assert "brittle 1.0" in printed
    assert "ZeroDivisionError" in printed


def test_two_plugins_that_claim_one_device_are_both_named(tmp_path: Path):
    for name in ("first", "second"):
        distribution(
            tmp_path, name, f"[dovetail.backends]\nabacus = {name}_plugin\n", f"{name}_plugin", ""
        )
    printed = run(
        tmp_path,
        """
import dovetail
try:
    dovetail.ones(2, device="abacus")
except Exception as error:
    print(type(error).__name__, error)
""",
    )
    assert "first 1.0" in printed
    assert "second 1.0" in printed
    assert "abacus" in printed


CALLS = {
    "operand": lambda x, value: x.add(value),
    "size": lambda x, value: x.reshape([value]),
    "dims": lambda x, value: x.sum(value),
    "memory format": lambda x, value: x.clone(memory_format=value),
    "dtype": lambda x, value: x.cumsum(0, dtype=value),
    "operand of an operator": lambda x, value: dovetail.ops.aten.add.Tensor(value, x),
    "dims of an operator": dovetail.ops.aten.sum.dim_IntList,
    "number of an operator": lambda x, value: dovetail.ops.bad.f(x, n=value),
}
LONG = {
    "text": "x" * 10**6,
    "list": [1] * 10**6,
    "tuple": (1.0,) * 10**6,
    "dict": {1: [2] * 10**6},
    "bytes": b"x" * 10**6,
}


@pytest.mark.parametrize("value", LONG)
@pytest.mark.parametrize("call", CALLS)
def test_a_message_shows_a_long_argument_in_part(library: Library, call: str, value: str):
    with pytest.raises((TypeError, RuntimeError, IndexError)) as caught:
        CALLS[call](dovetail.ones(4), LONG[value])
    assert len(str(caught.value)) < 5000


@pytest.mark.parametrize("value", [10**5000, [10**5000]], ids=["number", "list"])
@pytest.mark.parametrize("call", ["memory format", "dtype"])
def test_a_message_shows_a_number_that_python_does_not_print(call: str, value: Any):
    with pytest.raises(TypeError):
        CALLS[call](dovetail.ones(4), value)
