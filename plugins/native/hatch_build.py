"""Compiles the core: as hatchling's hook when a wheel is built, and in place for make.

    python hatch_build.py
    CFLAGS=-fsanitize=address LDFLAGS=-fsanitize=address python hatch_build.py FOLDER

The second form makes a package of its own in a folder, which comes first by ``PYTHONPATH``.

A wheel is compiled where there are CPython with its lock, its headers and a C compiler (``CC``,
else the one that Python was built with); anywhere else it is pure Python. Once a first file has
been compiled, one that fails to compile is an error.
"""

from __future__ import annotations

import os
import platform
import runpy
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HERE: Final = Path(__file__).resolve().parent
PACKAGE: Final = HERE / "src" / "dovetail_native"
OBJECTS: Final = HERE / "build" / "objects"
"""Where a checkout keeps objects: kernels take a minute, for three instruction sets."""

_SOURCES: Final = runpy.run_path(str(PACKAGE / "sources.py"))
source_files: Final[Callable[[Path], list[str]]] = _SOURCES["source_files"]
source_hash: Final[Callable[[Path], str]] = _SOURCES["source_hash"]

FLAGS: Final = (
    "-std=c11",
    "-O3",
    "-falign-loops=32",  # the speed of a short loop does not depend on what stands before it
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-strict-aliasing",  # as CPython is compiled: objects are seen through several structs
    "-fno-omit-frame-pointer",  # profilers walk through the frames
    "-Wall",
    "-Wextra",
    "-Wno-unused-parameter",  # CPython's signatures have parameters that few functions need
    "-Wno-missing-field-initializers",
    "-Wno-cast-function-type",  # methods are stored as PyCFunction
)

KERNEL_FLAGS: Final = (
    "-ffp-contract=off",  # the last elements of a row get the bits that they would in a vector
    "-fno-math-errno",
    "-fno-trapping-math",  # nobody looks at the flags of floating-point operations
)


def compiler() -> list[str] | str:
    """Return the words of a command that compiles a file which includes ``Python.h``; or why there
    is none.
    """
    if platform.python_implementation() != "CPython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "the core is for CPython with its global lock"
    default = "clang" if sys.platform == "win32" else sysconfig.get_config_var("CC") or "cc"
    words = shlex.split(os.environ.get("CC", default))
    if not words or shutil.which(words[0]) is None:
        return f"there is no C compiler {' '.join(words)!r}; CC can name one"
    with tempfile.TemporaryDirectory() as folder:
        probe = Path(folder) / "probe.c"
        probe.write_text("#include <Python.h>\nint probe(void) { return PY_MAJOR_VERSION; }\n")
        command = [*words, *includes(), "-c", str(probe), "-o", str(Path(folder) / "probe.o")]
        tried = subprocess.run(command, capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        said = (tried.stderr.strip().splitlines() or ["no message"])[0]
        return f"{' '.join(words)!r} compiles no file that includes Python.h ({said})"
    return words


def includes() -> list[str]:
    """Return the options that name Python's folder of headers."""
    return [f"-I{sysconfig.get_paths()['include']}"]


def definitions() -> list[str]:
    """Return the options that put into the module what it is built of."""
    with (HERE / "pyproject.toml").open("rb") as file:
        version = tomllib.load(file)["project"]["version"]
    return [f'-DDOVETAIL_VERSION="{version}"', f'-DDOVETAIL_SOURCE_HASH="{source_hash(HERE)}"']


def link_options() -> list[str]:
    """Return what the platform's linker needs for a module of Python."""
    if sys.platform == "darwin":
        return ["-bundle", "-undefined", "dynamic_lookup"]
    if sys.platform == "win32":
        libraries = Path(sys.base_prefix) / "libs"
        return ["-shared", f"-L{libraries}", f"-lpython{sysconfig.get_config_var('VERSION')}"]
    return ["-shared", "-lm"]


def build(command: list[str], target: Path, *, strict: bool, keep: bool = True) -> Path:
    """Compile the core into the folder `target`, and return the module.

    Parameters
    ----------
    strict
        Warnings are errors. Not in users' builds: compilers to come warn of more.
    keep
        Objects are kept in `OBJECTS` for the next time.

    Raises
    ------
    SystemExit
        If a file does not compile, with what the compiler says.
    """
    import numpy

    flags = [*FLAGS, *(["-Werror"] if strict else []), *shlex.split(os.environ.get("CFLAGS", ""))]
    bindings = [*includes(), f"-I{numpy.get_include()}"]
    module = target / f"_core{sysconfig.get_config_var('EXT_SUFFIX')}"
    sources = [HERE / each for each in source_files(HERE) if each.endswith(".c")]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        kept = OBJECTS if keep else Path(folder)
        kept.mkdir(parents=True, exist_ok=True)
        compiled = [
            pool.submit(_compile, source, [*command, *flags, *options], kept)
            for source in sources
            for options in _variants(source, bindings)
        ]
        objects = [each.result() for each in compiled]
        linked = Path(folder) / module.name
        options = [*link_options(), *shlex.split(os.environ.get("LDFLAGS", ""))]
        _run([*command, *map(str, objects), *options, "-o", str(linked)])
        # A process that has loaded the old module keeps it: it is replaced, not written to.
        beside = module.with_name(f".{module.name}.{os.getpid()}")
        shutil.copy2(linked, beside)
        beside.replace(module)
    return module


def _compile(source: Path, words: list[str], folder: Path) -> Path:
    """Compile a file and return the object, which `folder` may have from an earlier time: its name
    is a checksum of the command, the file and all headers.
    """
    checksum = sha256("\0".join(words).encode())
    headers = "kernels/*.h" if source.parent.name == "kernels" else "*/*.h"
    for path in [source, *sorted(HERE.glob(headers))]:
        checksum.update(path.read_bytes())
    made = folder / f"{source.stem}_{checksum.hexdigest()[:16]}.o"
    if not made.exists():
        beside = made.with_suffix(f".{os.getpid()}.o")
        _run([*words, "-c", str(source), "-o", str(beside)])
        beside.replace(made)
    return made


def _variants(source: Path, bindings: list[str]) -> list[list[str]]:
    """Return the options that a file is compiled with: kernels once for every instruction set and
    without headers of Python, others with `bindings`.
    """
    if source.parent.name != "kernels":
        return [[*bindings, *(definitions() if source.name == "module.c" else [])]]
    machine = platform.machine().lower()
    if machine in ("x86_64", "amd64"):
        sets = {name: [f"-march=x86-64-{name}"] for name in ("v2", "v3", "v4")}
    else:
        sets = {"neon" if machine in ("aarch64", "arm64") else "baseline": []}
    return [[*KERNEL_FLAGS, *march, f"-DISA={name}"] for name, march in sets.items()]


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)}\n{done.stdout}{done.stderr}\nThe core does not compile.")


class CompiledCore(BuildHookInterface[Any]):
    """Adds the compiled core to a wheel, or compiles it in place for an editable installation."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, if there is a compiler; called before the wheel is written."""
        command = compiler()
        if isinstance(command, str):
            self.app.display_warning(f"{command}: dovetail-native is built without compiled code.")
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        if version == "editable":
            build(command, PACKAGE, strict=True)
            return
        folder = Path(tempfile.mkdtemp(prefix="dovetail-native-"))
        module = build(command, folder, strict=False, keep=False)
        build_data["force_include"][str(module)] = f"{PACKAGE.name}/{module.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the folder that was compiled into."""
        for path in build_data["force_include"]:
            if Path(path).parent.name.startswith("dovetail-native-"):
                shutil.rmtree(Path(path).parent)


def main(folder: str | None = None) -> None:
    """Compile in place, or into a copy of the package in `folder`."""
    command = compiler()
    if isinstance(command, str):
        print(f"{command}: dovetail-native has no compiled code.")
        return
    target = PACKAGE
    if folder is not None:
        target = Path(folder).resolve() / PACKAGE.name
        shutil.copytree(
            PACKAGE,
            target,
            ignore=shutil.ignore_patterns("__pycache__", "_core.*.so"),
            dirs_exist_ok=True,
        )
    print(os.path.relpath(build(command, target, strict=True)))


if __name__ == "__main__":
    main(*sys.argv[1:])
