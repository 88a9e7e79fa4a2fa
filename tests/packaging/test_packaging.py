"""Every distribution as its users get it: the wheel's metadata, and what is inside."""

import subprocess
import sys
import zipfile
from configparser import ConfigParser
from email.message import Message
from email.parser import Parser
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
VERSION = "0.1.0"

FOLDERS = {
    "dovetail-kernel": "kernel",
    "dovetail-dispatcher": "dispatcher",
    "dovetail-autograd": "plugins/autograd",
    "dovetail-aten": "plugins/aten",
    "dovetail-cpu": "plugins/cpu",
    "dovetail-cuda": "plugins/cuda",
    "dovetail-mpi": "plugins/mpi",
    "dovetail-native": "plugins/native",
    "dovetail-pytest": "plugins/pytest",
    "dovetail-testing": "plugins/testing",
    "dovetail": ".",
}

CLOSURES = {
    "dovetail-kernel": set(),
    "dovetail-dispatcher": {"dovetail-kernel"},
    "dovetail-autograd": {"dovetail-dispatcher", "dovetail-kernel"},
    "dovetail-aten": {"dovetail-dispatcher", "dovetail-kernel"},
    "dovetail-cpu": {"dovetail-aten", "dovetail-dispatcher", "dovetail-kernel"},
    "dovetail-cuda": {"dovetail-aten", "dovetail-dispatcher", "dovetail-kernel"},
    "dovetail-mpi": {
        "dovetail",
        "dovetail-aten",
        "dovetail-autograd",
        "dovetail-cpu",
        "dovetail-dispatcher",
        "dovetail-kernel",
        "dovetail-native",
    },
    "dovetail-native": {"dovetail-dispatcher", "dovetail-kernel"},
    "dovetail-testing": {
        "dovetail",
        "dovetail-aten",
        "dovetail-autograd",
        "dovetail-cpu",
        "dovetail-dispatcher",
        "dovetail-kernel",
        "dovetail-native",
    },
    "dovetail-pytest": {"dovetail-dispatcher", "dovetail-kernel"},
    "dovetail": {
        "dovetail-aten",
        "dovetail-autograd",
        "dovetail-cpu",
        "dovetail-dispatcher",
        "dovetail-kernel",
        "dovetail-native",
    },
}

THIRD_PARTY = {
    "dovetail-kernel": {"pluggy"},
    "dovetail-dispatcher": set(),
    "dovetail-autograd": set(),
    "dovetail-aten": set(),
    "dovetail-cpu": {"ml-dtypes", "numpy", "scipy", "threadpoolctl"},
    "dovetail-cuda": {"ml-dtypes", "numpy"},
    "dovetail-mpi": {"mpi4py", "numpy"},
    "dovetail-native": {"numpy"},
    "dovetail-pytest": {"pytest"},
    "dovetail-testing": {"numpy", "scipy"},
    "dovetail": {"numpy", "rich", "scipy", "typer"},
}

EXTRAS = {
    "dovetail-aten": {"codegen": {"pyyaml"}},
    "dovetail-cuda": {
        "cuda12": {"cupy-cuda12x", "nvidia-cuda-cupti-cu12"},
        "cuda13": {"cupy-cuda13x", "nvidia-cuda-cupti"},
    },
    "dovetail-dispatcher": {"native": {"dovetail-native"}},
    "dovetail-mpi": {"mpich": {"mpich"}},
    "dovetail": {
        "cuda": {"dovetail-cuda"},
        "cuda12": {"dovetail-cuda"},
        "cuda13": {"dovetail-cuda"},
    },
}

ENTRY_POINTS = {
    "dovetail-autograd": {"dovetail.transforms": {"autograd": "dovetail_autograd"}},
    "dovetail-aten": {
        "dovetail.libraries": {"aten": "dovetail_aten"},
        "dovetail.backends": {"meta": "dovetail_aten.meta.meta_backend"},
    },
    "dovetail-cpu": {"dovetail.backends": {"cpu": "dovetail_cpu"}},
    "dovetail-cuda": {"dovetail.backends": {"cuda": "dovetail_cuda"}},
    "dovetail-mpi": {"dovetail.modules": {"distributed": "dovetail_mpi"}},
    "dovetail-native": {"dovetail.transforms": {"native": "dovetail_native"}},
    "dovetail-pytest": {"pytest11": {"dovetail": "dovetail_pytest"}},
    "dovetail-testing": {"dovetail.modules": {"testing": "dovetail_testing"}},
    "dovetail": {"console_scripts": {"dovetail": "dovetail.command:main"}},
}

every_distribution = pytest.mark.parametrize("name", FOLDERS)


class Wheel(NamedTuple):
    """What a wheel says and holds."""

    metadata: Message
    entry_points: dict[str, dict[str, str]]
    files: set[str]

    def requirements(self, extra: str = "") -> dict[str, Requirement]:
        """Return the requirements by canonical name: of `extra`, or the unconditional ones."""
        found: dict[str, Requirement] = {}
        for text in self.metadata.get_all("Requires-Dist", []):
            requirement = Requirement(text)
            marker = requirement.marker
            wanted = (
                marker is None
                if not extra
                else marker is not None and marker.evaluate({"extra": extra})
            )
            if wanted:
                found[canonicalize_name(requirement.name)] = requirement
        return found


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Wheel]:
    """All wheels, built side by side."""
    target = tmp_path_factory.mktemp("wheels")
    builds = {
        name: subprocess.Popen(
            [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target / name)],
            cwd=ROOT / folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for name, folder in FOLDERS.items()
    }
    for name, build in builds.items():
        output, _ = build.communicate()
        assert build.returncode == 0, f"{name} does not build:\n{output}"
    return {name: read(next((target / name).glob("*.whl"))) for name in FOLDERS}


def read(path: Path) -> Wheel:
    """Read the wheel at `path`."""
    with zipfile.ZipFile(path) as archive:
        files = set(archive.namelist())
        info = next(file.split("/")[0] for file in files if ".dist-info/" in file)
        metadata = Parser().parsestr(archive.read(f"{info}/METADATA").decode())
        parser = ConfigParser(delimiters=("=",))
        parser.optionxform = str  # type: ignore[assignment, method-assign]
        if f"{info}/entry_points.txt" in files:
            parser.read_string(archive.read(f"{info}/entry_points.txt").decode())
    entry_points = {group: dict(parser[group]) for group in parser.sections()}
    return Wheel(metadata, entry_points, {file.removeprefix(f"{info}/") for file in files})


@every_distribution
def test_wheel_carries_its_name_version_and_licence(wheels: dict[str, Wheel], name: str) -> None:
    metadata = wheels[name].metadata
    assert (metadata["Name"], metadata["Version"]) == (name, VERSION)
    assert metadata["License-Expression"] == "BSD-3-Clause"
    assert "licenses/LICENSE" in wheels[name].files


@every_distribution
def test_licence_text_is_the_repository_s(name: str) -> None:
    assert (ROOT / FOLDERS[name] / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


@every_distribution
def test_python_3_11_is_the_oldest_supported(wheels: dict[str, Wheel], name: str) -> None:
    assert SpecifierSet(wheels[name].metadata["Requires-Python"]) == SpecifierSet(">=3.11")


@every_distribution
def test_wheel_has_a_description(wheels: dict[str, Wheel], name: str) -> None:
    assert wheels[name].metadata["Description-Content-Type"] == "text/markdown"
    assert f"# {name}" in str(wheels[name].metadata.get_payload()).lower()


@every_distribution
def test_wheel_holds_one_typed_package(wheels: dict[str, Wheel], name: str) -> None:
    package = name.replace("-", "_")
    modules = {file for file in wheels[name].files if file.endswith(".py")}
    assert f"{package}/py.typed" in wheels[name].files
    assert f"{package}/__init__.py" in modules
    assert {file.split("/")[0] for file in modules} == {package}


@every_distribution
def test_entry_points_are_those_of_the_plugin_groups(wheels: dict[str, Wheel], name: str) -> None:
    assert wheels[name].entry_points == ENTRY_POINTS.get(name, {})


@every_distribution
def test_dependencies_close_over_the_layers_below(wheels: dict[str, Wheel], name: str) -> None:
    closure: set[str] = set()
    pending = [name]
    while pending:
        ours = {other for other in wheels[pending.pop()].requirements() if other in FOLDERS}
        pending += ours - closure
        closure |= ours
    assert closure == CLOSURES[name]


@every_distribution
def test_third_party_dependencies_are_the_intended_ones(
    wheels: dict[str, Wheel], name: str
) -> None:
    assert {other for other in wheels[name].requirements() if other not in FOLDERS} == THIRD_PARTY[
        name
    ]


@every_distribution
def test_extras_bring_the_intended_packages(wheels: dict[str, Wheel], name: str) -> None:
    wheel = wheels[name]
    extras = wheel.metadata.get_all("Provides-Extra", [])
    assert {extra: set(wheel.requirements(extra)) for extra in extras} == EXTRAS.get(name, {})


@every_distribution
def test_distributions_of_one_release_pin_each_other_exactly(
    wheels: dict[str, Wheel], name: str
) -> None:
    wheel = wheels[name]
    requirements = [wheel.requirements()]
    requirements += [
        wheel.requirements(extra) for extra in wheel.metadata.get_all("Provides-Extra", [])
    ]
    pins = {
        str(found.specifier)
        for group in requirements
        for other, found in group.items()
        if other in FOLDERS
    }
    assert pins <= {f"=={VERSION}"}


def test_wheel_of_the_base_library_holds_its_docstrings(wheels: dict[str, Wheel]) -> None:
    assert "dovetail_aten/_generated/docstrings.json" in wheels["dovetail-aten"].files


def test_wheel_of_the_base_library_holds_its_declarations(wheels: dict[str, Wheel]) -> None:
    package = ROOT / "plugins/aten/src"
    declarations = {
        path.relative_to(package).as_posix() for path in package.glob("*/families/*/*.yaml")
    }
    assert declarations
    assert declarations <= wheels["dovetail-aten"].files
