"""Who imports what: `import dovetail` stays light, and a distribution imports only what it
declares.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from fresh_interpreter import printed_by
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
DISTRIBUTIONS = [
    "kernel",
    "dispatcher",
    "plugins/autograd",
    "plugins/aten",
    "plugins/cpu",
    "plugins/cuda",
    "plugins/pytest",
    "plugins/testing",
    ".",
]

LAZY = [
    "click",
    "cupy",
    "dovetail_aten.codegen",
    "dovetail_aten.fft",
    "dovetail_aten.nn",
    "dovetail_aten.printing",
    "dovetail_aten.python_modules",
    "dovetail_aten.linalg",
    "dovetail_aten.special",
    "dovetail_cpu.memory.malloc",
    "dovetail_cuda",
    "markdown_it",
    "pydantic",
    "pygments",
    "rich",
    "safetensors",
    "scipy",
    "torch",
    "typer",
    "yaml",
]

# What NumPy, or what makes an installation editable, has imported anyway, counts for neither.
STANDARD_LAZY = [
    "argparse",
    "asyncio",
    "concurrent.futures",
    "dataclasses",
    "difflib",
    "email",
    "importlib.abc",
    "importlib.resources",
    "importlib.metadata",
    "inspect",
    "json",
    "logging",
    "multiprocessing",
    "pathlib",
    "pickle",
    "random",
    "shutil",
    "subprocess",
    "tempfile",
    "traceback",
    "unittest",
    "urllib",
    "zipfile",
]

# Import names that differ from the name of the distribution they come in.
DISTRIBUTION_OF = {"yaml": "pyyaml", "cupyx": "cupy", "cupy_backends": "cupy"}

# Modules of lower packages that are public as modules: too heavy to be re-exported from the
# package.
PUBLIC_MODULES = {
    "dovetail_aten.autocast",
    "dovetail_aten.backends",
    "dovetail_aten.codegen",
    "dovetail_aten.fft",
    "dovetail_aten.front_end",
    "dovetail_aten.nn",
    "dovetail_aten.printing",
    "dovetail_aten.python_modules",
    "dovetail_aten.linalg",
    "dovetail_aten.sockets",
    "dovetail_aten.special",
    "dovetail_cpu.memory",
    "dovetail_dispatcher.sockets",
    "dovetail_autograd.forward_ad",
    "dovetail_autograd.checking.functional",
    "dovetail_autograd.transforms",
    "dovetail_cuda.devices",
    "dovetail_cuda.memory",
    "dovetail_dispatcher._C",
    "dovetail_dispatcher.testing",
}

# Imported for type checkers only, which cannot add up lists of names.
TYPES = {"dovetail_aten._generated.functions"}


@pytest.fixture(scope="module")
def modules_after_import() -> set[str]:
    return set(printed_by("import sys, dovetail; print(*sys.modules)").split())


@pytest.fixture(scope="module")
def modules_of_numpy() -> set[str]:
    return set(printed_by("import sys, numpy; print(*sys.modules)").split())


@pytest.mark.parametrize("module", STANDARD_LAZY)
def test_import_dovetail_leaves_out_of_the_standard_library(
    modules_after_import: set[str], modules_of_numpy: set[str], module: str
) -> None:
    if module == "json" and "dovetail_native._core" not in modules_after_import:
        pytest.skip("functions of the text in Python take their docstrings when they are made")
    assert module not in modules_after_import - modules_of_numpy


@pytest.mark.parametrize("module", LAZY)
def test_import_dovetail_leaves_out(modules_after_import: set[str], module: str) -> None:
    assert module not in modules_after_import


def test_import_dovetail_prints_nothing() -> None:
    assert printed_by("import dovetail") == ""


def test_importing_the_dispatcher_brings_no_numpy() -> None:
    assert "numpy" not in printed_by("import sys, dovetail_dispatcher; print(*sys.modules)").split()


def sources_in(folder: Path) -> list[Path]:
    """Return the modules and the stubs below `folder`."""
    return sorted([*folder.rglob("*.py"), *folder.rglob("*.pyi")])


def imported_packages(source: Path) -> Iterator[tuple[str, Path]]:
    """Yield the top-level packages that the modules below `source` import, with the file that
    does.
    """
    for file in sources_in(source):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield alias.name.partition(".")[0], file
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                yield node.module.partition(".")[0], file


def declared_packages(project: dict[str, Any]) -> set[str]:
    """Return what `project` requires, with all its extras, as import names spell it."""
    texts = [
        *project.get("dependencies", []),
        *chain(*project.get("optional-dependencies", {}).values()),
    ]
    names = {canonicalize_name(Requirement(text).name).replace("-", "_") for text in texts}
    return {re.sub(r"cupy_cuda\d+x", "cupy", name) for name in names}


@pytest.mark.parametrize("folder", DISTRIBUTIONS)
def test_distribution_imports_only_what_it_declares(folder: str) -> None:
    project = tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    allowed = (
        declared_packages(project)
        | sys.stdlib_module_names
        | {"annotationlib"}  # of Python 3.14
        | {project["name"].replace("-", "_")}
    )
    undeclared = {
        f"{package} in {file.relative_to(ROOT)}"
        for package, file in imported_packages(ROOT / folder / "src")
        if DISTRIBUTION_OF.get(package, package) not in allowed
    }
    assert undeclared == set()


def test_front_end_imports_the_layers_below_by_their_public_names() -> None:
    """What a lower package offers is re-exported from its `__init__`; its modules are its own
    affair.
    """
    lower_module = re.compile(r"dovetail_(kernel|dispatcher|aten|autograd|cpu|cuda)(\.\w+)+")
    private = set()
    for file in sources_in(ROOT / "src"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = (
                [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            )
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            # Modules that are imported by name, when one of their names is first asked for.
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                names += [node.value] if lower_module.fullmatch(node.value) else []
            named = set(filter(lower_module.match, names)) - PUBLIC_MODULES - TYPES
            private |= {f"{name} in {file.relative_to(ROOT)}" for name in named}
    assert private == set()


INNER_IMPORTS = 12
"""How often a distribution imports a module inside a room of another one. Lower it when there are
fewer: what others need is public in the `__init__` of a distribution, or in a module beside that.
"""


def test_distributions_import_inner_modules_of_others_no_more_often_than_before() -> None:
    inside = re.compile(r"(dovetail\w*)\.\w+\.\w+")
    sources = [*ROOT.glob("src/*"), *ROOT.glob("*/src/*"), *ROOT.glob("plugins/*/src/*")]
    packages = {each.name: each for each in sources if each.name.startswith("dovetail")}
    found = []
    for name, folder in packages.items():
        for file in sources_in(folder):
            if "_generated" in file.parts:
                continue
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and not node.level and node.module:
                    target = inside.match(node.module)
                    if target is not None and target[1] in packages and target[1] != name:
                        found.append(f"{node.module} in {file.relative_to(ROOT)}")
    assert len(packages) > 10
    assert len(found) <= INNER_IMPORTS
