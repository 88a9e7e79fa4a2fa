"""Errors say where, what was meant, and what to do: as a user meets them."""

from __future__ import annotations

import inspect
import linecache
import re
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dovetail
from dovetail.library import Library, _scoped_library, custom_op
from dovetail.testing import OpInfo
from dovetail_dispatcher.schema.errors import SchemaError

ROOT = Path(__file__).parents[2]


def line() -> int:
    """Return the number of the caller's line."""
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


@pytest.fixture
def library() -> Iterator[Library]:
    with _scoped_library("messages", "DEF") as made:
        yield made


# -- places ----------------------------------------------------------------------------------------


def test_a_definition_is_placed_at_its_own_line(library: Library) -> None:
    def elsewhere(other: Library) -> None:
        other.define("f(Tensor x) -> Tensor")

    library.define("f(Tensor x) -> Tensor")
    first = line() - 1
    with _scoped_library("messages", "FRAGMENT") as other, pytest.raises(RuntimeError) as caught:
        elsewhere(other)
    text = str(caught.value)
    assert f"Original registration: registered at {__file__}:{first}." in text
    assert f"Duplicate registration: registered at {__file__}:{first - 2}." in text


def test_a_kernel_is_placed_at_its_own_line(library: Library) -> None:
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", abs, "CPU")
    here = line() - 1
    with pytest.raises(NotImplementedError, match=f"CPU: registered at .*:{here} "):
        dovetail.ops.messages.f(dovetail.ones(2, device="meta"))


def test_a_malformed_registration_is_placed_at_its_own_line(library: Library) -> None:
    library.define("f(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError) as caught:
        library.impl("other::f", abs, "CPU")
    assert f"{__file__}:{line() - 1}" in str(caught.value)


# -- what was meant --------------------------------------------------------------------------------


def test_gpu_means_cuda(library: Library) -> None:
    library.define("f(Tensor x) -> Tensor")
    for refused in (
        lambda: library.impl("f", abs, "GPU"),
        lambda: dovetail.ones(2, device="gpu"),
        lambda: dovetail.ones(2).to("GPU"),
        lambda: dovetail.device("gpu:1"),
        lambda: dovetail.library.register_kernel("messages::f", "gpu", abs),
    ):
        with pytest.raises(RuntimeError, match=r"Did you mean 'cuda'\?|Did you mean 'CUDA'\?"):
            refused()


def test_nothing_is_suggested_that_is_what_was_written(library: Library) -> None:
    from dovetail_kernel.errors import did_you_mean

    assert did_you_mean("add", ["add"]) == ""
    assert did_you_mean("add", ["add", "adds"]) == " Did you mean 'adds'?"
    assert did_you_mean("Cuda", ["CUDA"]) == " Did you mean 'CUDA'?"


@pytest.mark.parametrize(
    ("given", "meant"),
    [("blur", "mylib::blur"), ("vision.blur", "vision::blur"), ("::blur", "mylib::blur"),
     ("", "mylib::name")],
)  # fmt: skip
def test_a_name_without_namespace_is_kept(given: str, meant: str) -> None:
    with pytest.raises(ValueError, match=f"needs a namespace. Call it '{meant}', say."):
        custom_op(given, mutates_args=())


def test_a_missing_fake_names_register_fake(library: Library) -> None:
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", abs, "CPU")
    remedy = re.escape("dovetail.library.register_fake('messages::f', fn)")
    with pytest.raises(NotImplementedError, match=remedy):
        dovetail.ops.messages.f(dovetail.ones(2, device="meta"))


@pytest.mark.parametrize(
    ("schema", "reason", "remedy"),
    [
        ("f(Tensor x -> Tensor", "expected ')' but found '->'", "Write a schema as"),
        ("f(Tensor) -> Tensor", "expected a name but found ')'", "a type and a name: 'Tensor x'"),
        ("f(Tensor x,) -> Tensor", "expected a name but found ')'", "No comma follows the last"),
        ("f(Tensor x)", "expected '->' but found the end of the text", "or '-> ()' for nothing"),
        ("f(Tensor x) -> ", "expected a name but found the end", "or '-> ()' for nothing"),
        ("f(Tensor x) Tensor", "expected '->' but found the name 'Tensor'", "Write a schema as"),
        ("f(x: Tensor) -> Tensor", "expected a name but found ':'", "not 'x: Tensor'"),
        ("f(Tensor x: int) -> Tensor", "expected ')' but found ':'", "not 'x: Tensor'"),
        ("f(Tensor x) -> Tensor, Tensor", "the end of the text but found ','", "(Tensor, Tensor)"),
        ("f(int x=) -> Tensor", "expected a number but found ')'", "Write a schema as"),
        ("f Tensor x -> Tensor", "expected '(' but found the name 'Tensor'", "Write a schema as"),
        ("f(Tensor x)\n-> Tensor", "expected '->' but found the end of the line", "on one line"),
    ],
)
def test_schema_errors_are_in_words(
    library: Library, schema: str, reason: str, remedy: str
) -> None:
    with pytest.raises(SchemaError) as caught:
        library.define(schema)
    text = str(caught.value)
    assert reason in text
    assert remedy in text
    assert "<--- HERE" in text
    assert not re.search(r"\b(eof|ident|arrow|newline|string_literal)\b", text)


# -- generated code --------------------------------------------------------------------------------


def test_frames_of_generated_code_show_their_source() -> None:
    def trace(function: Any) -> str:
        try:
            function()
        except RuntimeError:
            return traceback.format_exc()
        raise AssertionError("nothing was raised")

    def kernel(x: Any) -> Any:
        raise RuntimeError("the kernel failed")

    library = dovetail.library.Library("frames", "DEF")
    library.define("fails(Tensor x) -> Tensor")
    library.impl("fails", kernel, "CompositeExplicitAutograd")
    dovetail.set_full_tracebacks(True)
    try:
        entry = dovetail.ops.frames.fails.default.op  # compiled, it has no frame
        text = trace(lambda: getattr(entry, "text", entry)(dovetail.ones(2)))
    finally:
        dovetail.set_full_tracebacks(False)
        library._destroy()
    frames = re.findall(r'File "(<dovetail [^"]*>)", line (\d+)', text)
    assert frames
    for file, number in frames:
        assert linecache.getline(file, int(number)).strip() in text
        assert linecache.getline(file, int(number)).strip()


# -- names of PyTorch that are not here ------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "name", "nearest"),
    [
        ("", "conv4d", "dovetail.conv3d"),
        ("nn", "Linaer", "dovetail.nn.Linear"),
        ("nn.functional", "gelu2", "dovetail.nn.functional.gelu"),
        ("nn.functional", "Linear", "dovetail.nn.Linear"),
        ("optim", "Adm", "dovetail.optim.Adam"),
        ("linalg", "nrm", "dovetail.linalg.norm"),
        ("special", "airy_bi", "dovetail.special.airy_ai"),
        ("func", "hessien", "dovetail.func.hessian"),
        ("distributions", "Norml", "dovetail.distributions.Normal"),
        ("utils.data", "DataLoder", "dovetail.utils.data.DataLoader"),
    ],
)
def test_a_name_that_is_not_here_says_so_and_names_the_nearest(
    module: str, name: str, nearest: str
) -> None:
    place: Any = dovetail
    for part in filter(None, module.split(".")):
        place = getattr(place, part)
    with pytest.raises(AttributeError, match=f"is not in Dovetail. The nearest is {nearest}."):
        getattr(place, name)


# -- what to install -------------------------------------------------------------------------------


def test_no_remedy_installs_from_an_index_what_is_only_in_the_repository() -> None:
    sources = [ROOT / "kernel" / "src", ROOT / "dispatcher" / "src", ROOT / "src"]
    sources += sorted(ROOT.glob("plugins/*/src"))
    written = re.compile(r"pip\s+install\s+(?:-\S+\s+)*['\"]?(dovetail[\w-]*)")
    found = []
    for file in (each for source in sources for each in sorted(source.rglob("*.py"))):
        text = re.sub(r'"\s*\n\s*f?"', "", file.read_text(encoding="utf-8"))
        text = text.replace("pip install -e dovetail-signal", "")  # a folder that was just made
        found += [f"{file.relative_to(ROOT)}: {name}" for name in written.findall(text)]
    assert found == []


def test_no_second_library_defines_into_aten() -> None:
    with pytest.raises(RuntimeError, match="namespace aten"):
        Library("aten", "DEF")


def test_an_error_of_a_missing_kernel_lists_kernels_of_misspelt_operators() -> None:
    with _scoped_library("misspelt", "FRAGMENT") as library:
        library.define("softmax(Tensor x) -> Tensor")
        library.impl("soft_max", dovetail.clone, "CompositeExplicitAutograd")
        with pytest.raises(NotImplementedError, match=r"misspelt::soft_max at .*\.py:\d+"):
            dovetail.ops.misspelt.softmax(dovetail.ones(2))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"dtypes": ("float32",)}, "float32"),
        ({"dtypes": dovetail.float32}, "float32"),
        ({"sample_inputs_func": None}, "sample_inputs_func"),
    ],
)
def test_an_op_info_checks_its_fields(given: dict[str, Any], words: str) -> None:
    fields = {"dtypes": [dovetail.float32], "sample_inputs_func": lambda *_: ()}
    assert OpInfo(name="a::b", **fields).dtypes == {dovetail.float32}
    with pytest.raises(TypeError, match=words):
        OpInfo(name="a::b", **fields | given)


# -- arguments of another kind ---------------------------------------------------------------------


def test_opcheck_of_a_tensor_in_place_of_the_arguments_is_refused() -> None:
    with pytest.raises(TypeError, match=r"opcheck\(op, \(x,\)\)"):
        dovetail.library.opcheck(dovetail.ops.aten.sin.default, dovetail.ones(2))


def test_a_schema_is_a_text(library: Library) -> None:
    with pytest.raises(TypeError, match="schema must be a str, not NoneType"):
        library.define(None)  # type: ignore[arg-type]


def test_an_optimizer_of_a_module_names_its_parameters() -> None:
    with pytest.raises(TypeError, match=r"'Linear' object is not iterable.*model\.parameters\(\)"):
        dovetail.optim.SGD(dovetail.nn.Linear(2, 2), lr=0.1)  # type: ignore[arg-type]
