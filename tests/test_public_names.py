"""The public names of every package, which stand in its stub or its ``__all__``. One that appears
or goes is an interface that changes: say so in the changelog.
"""

# ruff: noqa: SIM905 - a column of words is easier to compare than a list of quoted ones

import inspect
import pickle
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import FunctionType, ModuleType
from typing import Any, get_type_hints

import pytest

import dovetail
from dovetail_kernel import read_stub

STUBS = sorted(Path(dovetail.__file__).parent.rglob("*.pyi"))
"""The lists of public names of the front end."""


def package_of(stub: Path) -> str:
    parts = stub.relative_to(Path(dovetail.__file__).parents[1]).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


STUBBED = [package_of(stub) for stub in STUBS]
OTHERS = """
dovetail.accelerator dovetail.amp dovetail.autograd.engine dovetail.autograd.forward_ad
dovetail.autograd.functional dovetail.autograd.profiler dovetail.backends.cudnn
dovetail.backends.families dovetail.compiler dovetail.cpu dovetail.fft dovetail.hub
dovetail.jit dovetail.linalg dovetail.nn dovetail.nn.attention dovetail.nn.attention.bias
dovetail.nn.functional dovetail.nn.init dovetail.nn.parallel dovetail.nn.parameter
dovetail.nn.utils.parametrizations dovetail.nn.utils.parametrize dovetail.nn.utils.rnn
dovetail.optim.swa_utils dovetail.overrides dovetail.random dovetail.signal
dovetail.signal.windows dovetail.special dovetail.storage dovetail.torch_version
dovetail.types dovetail.utils._python_dispatch dovetail.utils.benchmark
dovetail.utils.checkpoint dovetail.utils.dlpack dovetail.utils.hooks dovetail_aten
dovetail_autograd dovetail_cpu dovetail_cuda dovetail_dispatcher dovetail_kernel
""".split()
"""Packages whose names stand in their ``__all__``."""

PACKAGES = [*STUBBED, *OTHERS]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_there(package: str) -> None:
    module = import_module(package)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []
    assert set(module.__all__) <= set(dir(module))


@pytest.mark.parametrize("package", STUBBED)
def test_every_name_of_a_stub_is_there(package: str) -> None:
    module = import_module(package)
    public, submodules, _, elsewhere = read_stub(package)
    assert module.__all__ == public
    for name in submodules:
        try:
            found = import_module(f"{package}.{name}")
        except ModuleNotFoundError as error:  # tensorboard is optional
            assert "pip install" in str(error)
            continue
        assert found is getattr(module, name)
    for name, source in elsewhere.items():
        assert getattr(import_module(source), name) is getattr(module, name)


@pytest.mark.parametrize("package", STUBBED)
def test_no_name_of_a_stub_is_hidden_by_a_module_that_is_imported_first(package: str) -> None:
    module = import_module(package)
    names = list(read_stub(package).elsewhere)
    folders = list(getattr(module, "__path__", ()))
    inner = [each.name for each in iter_modules(folders) if each.name in names]
    program = f"""
import sys
from importlib import import_module
module = import_module({package!r})
inner = {inner}
for name in inner:
    import_module(f"{package}.{{name}}")
print([name for name in inner if getattr(module, name) is sys.modules[f"{package}.{{name}}"]])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_type_checker_knows_the_names_of_the_stubs(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import dovetail\n"
        "reveal_type(dovetail.sym_int)\n"
        "reveal_type(dovetail.optim.Adam)\n"
        "dovetail.set_num_threads(1)\n"
        "dovetail.optim.Adma\n"
    )
    # In a process of its own: it raises the limit of recursion of that in which it runs.
    mypy = [sys.executable, "-m", "mypy", str(program), "--cache-dir", str(tmp_path / "cache")]
    text = subprocess.run(mypy, check=False, capture_output=True, text=True).stdout
    assert 'Revealed type is "def (a: Any) -> int"' in text
    assert "-> dovetail.optim.adam.Adam" in text
    errors = [line for line in text.splitlines() if ": error:" in line]
    assert len(errors) == 1
    assert '"Adma"' in errors[0]


def test_the_front_end_shows_nothing_else() -> None:
    import dovetail

    shown = {
        name
        for name in dir(dovetail)
        if not name.startswith("_") and not is_submodule(name, getattr(dovetail, name))
    }
    assert shown - set(dovetail.__all__) == set()


def is_submodule(name: str, value: object) -> bool:
    """Whether `value` is a module under ``dovetail``, of the front end or provided by a plugin,
    which Python sets on the package once it is imported.
    """
    return isinstance(value, ModuleType) and sys.modules.get(f"dovetail.{name}") is value


def test_every_public_name_of_the_base_library_is_one_of_the_front_end() -> None:
    import dovetail
    import dovetail_aten

    assert set(dovetail_aten.__all__) - set(dovetail.__all__) == set()


def test_an_unknown_name_is_an_attribute_error() -> None:
    import dovetail

    with pytest.raises(AttributeError, match="module 'dovetail' has no attribute 'tensr'"):
        dovetail.tensr  # noqa: B018


@pytest.mark.parametrize("package", PACKAGES)
def test_public_classes_and_functions_name_a_public_place(package: str) -> None:
    module = import_module(package)
    elsewhere = []
    for name in module.__all__:
        value = getattr(module, name)
        if not isinstance(value, (type, FunctionType)) or not is_ours(value.__module__):
            continue
        place, called = value.__module__, value.__qualname__
        found = getattr(import_module(place), called, None)
        if place not in PLACES or found is not value:
            elsewhere.append(f"{package}.{name}: {place}.{called}")
    assert elsewhere == []


def is_ours(module: object) -> bool:
    return isinstance(module, str) and module.partition(".")[0].startswith("dovetail")


PLACES = {
    *PACKAGES,
    "dovetail.autograd.function",
    "dovetail.distributed",
    "dovetail.serialization",
    "dovetail.return_types",
}


def test_a_class_of_users_keeps_its_module() -> None:
    class Own(dovetail.nn.Module): ...

    assert Own.__module__ == __name__
    assert pickle.loads(pickle.dumps(dovetail.nn.Linear)) is dovetail.nn.Linear


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (dovetail.Tensor, "dovetail.Tensor"),
        (dovetail.nn.Linear, "dovetail.nn.Linear"),
        (dovetail.autograd.Function, "dovetail.autograd.Function"),
        (dovetail.linalg.det, "dovetail.linalg.det"),
        (dovetail.vmap, "dovetail.vmap"),
        (dovetail.add, "dovetail.add"),
        (dovetail.no_grad, "dovetail.no_grad"),
        (dovetail.optim.lr_scheduler.StepLR, "dovetail.optim.lr_scheduler.StepLR"),
    ],
)
def test_the_place_is_the_one_with_the_fewest_dots(value: Any, place: str) -> None:
    assert f"{value.__module__}.{value.__qualname__}" == place


def test_the_place_does_not_depend_on_the_order_of_imports() -> None:
    program = (
        "import dovetail.func, dovetail.autograd, dovetail_autograd;"
        "import dovetail_autograd.transforms;"
        "print(dovetail.func.vmap.__module__, dovetail.autograd.no_grad.__module__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["dovetail", "dovetail"]


def test_the_source_of_a_class_is_never_that_of_another_place() -> None:
    with pytest.raises(OSError, match=r"source code|class definition"):
        inspect.getsource(dovetail.nn.Linear)
    assert "def forward" in inspect.getsource(dovetail.nn.Linear.forward)


def test_the_annotations_of_public_classes_can_be_read() -> None:
    modules = (dovetail, dovetail.nn, dovetail.optim, dovetail.distributions, dovetail.utils.data)
    modules += (dovetail.autograd, dovetail.autograd.graph, dovetail.optim.lr_scheduler)
    found = [value for module in modules for value in vars(module).values()]
    classes = {each for each in found if isinstance(each, type) and "dovetail" in each.__module__}
    assert len(classes) > 250
    for each in classes:
        get_type_hints(each)  # raises NameError for a name that its module lacks
