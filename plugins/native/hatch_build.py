"""Compiles the core: as hatchling's hook when a wheel is built, and in place for make.

    python hatch_build.py

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
from pathlib import Path
from typing import Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HERE: Final = Path(__file__).resolve().parent
PACKAGE: Final = HERE / "src" / "dovetail_native"

_SOURCES: Final = runpy.run_path(str(PACKAGE / "sources.py"))
source_files: Final[Callable[[Path], list[str]]] = _SOURCES["source_files"]
source_hash: Final[Callable[[Path], str]] = _SOURCES["source_hash"]

FLAGS: Final = (
    "-std=c11",
    "-O3",
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
    return ["-shared"]


def build(command: list[str], target: Path, *, strict: bool) -> Path:
    """Compile the core into the folder `target`, and return the module.

    Parameters
    ----------
    strict
        Warnings are errors. Not in users' builds: compilers to come warn of more.

    Raises
    ------
    SystemExit
        If a file does not compile, with what the compiler says.
    """
    import numpy

    flags = [*FLAGS, *(["-Werror"] if strict else []), *definitions(), *includes()]
    flags += [f"-I{numpy.get_include()}", *shlex.split(os.environ.get("CFLAGS", ""))]
    module = target / f"_core{sysconfig.get_config_var('EXT_SUFFIX')}"
    sources = [HERE / each for each in source_files(HERE) if each.endswith(".c")]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = [Path(folder) / f"{source.parent.name}_{source.stem}.o" for source in sources]
        compiled = [
            pool.submit(_run, [*command, *flags, "-c", str(source), "-o", str(made)])
            for source, made in zip(sources, objects, strict=True)
        ]
        for each in compiled:
            each.result()
        linked = Path(folder) / module.name
        options = [*link_options(), *shlex.split(os.environ.get("LDFLAGS", ""))]
        _run([*command, *map(str, objects), *options, "-o", str(linked)])
        # A process that has loaded the old module keeps it: it is replaced, not written to.
        beside = module.with_name(f".{module.name}.{os.getpid()}")
        shutil.copy2(linked, beside)
        beside.replace(module)
    return module


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
        module = build(command, folder, strict=False)
        build_data["force_include"][str(module)] = f"{PACKAGE.name}/{module.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the folder that was compiled into."""
        for path in build_data["force_include"]:
            if Path(path).parent.name.startswith("dovetail-native-"):
                shutil.rmtree(Path(path).parent)


def main() -> None:
    """Compile in place."""
    command = compiler()
    if isinstance(command, str):
        print(f"{command}: dovetail-native has no compiled code.")
    else:
        print(build(command, PACKAGE, strict=True).relative_to(HERE))


if __name__ == "__main__":
    main()
