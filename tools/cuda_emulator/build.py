"""Builds the emulator: CuPy from its wheel, with its binding of the CUDA runtime compiled again,
and libraries in the places of libcuda, NVRTC and cuBLAS.

    python tools/cuda_emulator/build.py FOLDER

Needs g++, pip and about a minute. Every step leaves its result in the folder and is left out if
that is there and newer than what it is made of.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
CUPY = "14.2.0"
WHEELS = (f"cupy-cuda12x=={CUPY}", "cuda-pathfinder", "nvidia-cuda-runtime-cu12==12.9.*")
REAL_NVRTC = ("nvidia-cuda-nvrtc-cu12==12.9.*",)
TOOLS = ("Cython>=3.2,<3.3", "setuptools>=77")
COMPILE_TIME = {
    "CUPY_USE_CUDA_PYTHON": False,
    "CUPY_CUDA_VERSION": 12090,
    "CUPY_HIP_VERSION": 0,
    "CUPY_CUFFT_STATIC": False,
}
REPLACED = ("cupy/cuda/thrust", "cupy_backends/cuda/api/runtime")
PREPARE = "\nfrom cuda_emulator_host import prepare; prepare()\n"
ON_HOST = {
    "cupy/linalg": "numpy.linalg",
    "cupy/fft": "numpy.fft",
    "cupyx/scipy/fft": "scipy.fft",
    "cupyx/scipy/linalg": "scipy.linalg",
}
NOT_SUPPORTED = {"cudart": 801, "cublas": 15}


def main(arguments: Sequence[str]) -> str | None:
    """Build into the folder given; return what is missing, if something is."""
    if shutil.which("g++") is None:
        return "the CUDA emulator needs g++, which is not installed"
    home = Path(arguments[0]).resolve()
    home.mkdir(parents=True, exist_ok=True)
    Build(home).everything()
    return None


class Build:
    """The steps; `home` gets the folders site, strict, tools, source, objects and lib."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.site, self.lib, self.objects = home / "site", home / "lib", home / "objects"
        self.source = home / "source" / f"cupy-{CUPY}"
        self.cuda_headers = self.site / "nvidia" / "cuda_runtime" / "include"
        for folder in (self.lib, self.objects, self.lib / "emulated"):
            folder.mkdir(exist_ok=True, parents=True)

    def everything(self) -> None:
        """Do what was not done yet."""
        installed = {
            self.site: WHEELS,
            self.home / "strict": REAL_NVRTC,
            self.home / "tools": TOOLS,
        }
        started = {target: self.start_pip(target, wanted) for target, wanted in installed.items()}
        driver = ("memory", "threads", "races", "driver")
        for name in (*driver, "nvrtc", "cublas", "cupti"):
            self.object_of(name)
        self.link("libcuda.so.1", self.lib, [self.objects / f"{name}.o" for name in driver])
        self.link("libcupti.so.12", self.lib, [self.objects / "cupti.o"])
        self.link("libnvrtc.so.12", self.lib / "emulated", [self.objects / "nvrtc.o"])
        for target, process in started.items():
            self.finish_pip(target, process)
        # CuPy looks for it before cuBLAS, and calls nothing of it.
        self.link("libcublasLt.so.12", self.lib, [])
        self.substitute("libcublas.so.12", "cublas", "cupy_backends/cuda/libs/cublas", self.lib)
        self.runtime()
        self.replace()
        self.precompile()
        self.forget_kernels()

    # -- from the index ------------------------------------------------------------------------

    def start_pip(self, target: Path, packages: Sequence[str]) -> subprocess.Popen[bytes] | None:
        """Begin to install `packages`, without what they require, into a folder of their own."""
        if (target / ".complete").exists():
            return None
        shutil.rmtree(target, ignore_errors=True)
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile"]
        pip += ["--disable-pip-version-check", "--root-user-action=ignore", "--target", str(target)]
        return subprocess.Popen([*pip, *packages])

    def finish_pip(self, target: Path, started: subprocess.Popen[bytes] | None) -> None:
        """Wait for pip, and remember that it was done."""
        if started is not None and started.wait():
            raise SystemExit("pip could not install what the CUDA emulator is made of")
        (target / ".complete").touch()

    def fetch_source(self) -> None:
        """Get the source distribution of CuPy, without building it."""
        if self.source.exists():
            return
        folder = self.home / "source"
        # CuPy's setup takes this variable for a machine that makes its documentation, where CUDA
        # is not needed.
        settings = {**os.environ, "READTHEDOCS": "True", "PYTHONPATH": str(self.home / "tools")}
        wanted = ["--no-deps", "--no-build-isolation", "--no-binary", "cupy", f"cupy=={CUPY}"]
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", str(folder)]
        run([*command, "--disable-pip-version-check", *wanted], env=settings)
        with tarfile.open(folder / f"cupy-{CUPY}.tar.gz") as archive:
            archive.extractall(folder, filter="data")

    # -- compiling -----------------------------------------------------------------------------

    def object_of(self, name: str) -> Path:
        """Compile one of the libraries' sources."""
        source, made = HERE / "libraries" / f"{name}.cpp", self.objects / f"{name}.o"
        if stale(made, source, *(HERE / "libraries").glob("*.h")):
            headers = ["-I", str(HERE / "headers"), "-I", str(self.cuda_headers)]
            run(["g++", "-std=c++17", "-O2", "-fPIC", "-c", str(source), "-o", str(made), *headers])
        return made

    def link(self, name: str, folder: Path, parts: Sequence[Path], *options: str) -> None:
        """Make a library of objects; all but the driver itself stand on it."""
        made = folder / name
        if stale(made, *parts):
            driver = [] if name == "libcuda.so.1" else [f"-L{self.lib}", "-l:libcuda.so.1"]
            objects = [str(each) for each in parts]
            rest = [f"-Wl,-soname,{name}", "-ldl", *driver, *options]
            # In one step: programs that run have the old one open.
            run(["g++", "-shared", "-o", f"{made}.new", *objects, *rest])
            Path(f"{made}.new").replace(made)

    def substitute(self, name: str, own: str, user: str, folder: Path) -> None:
        """Make the library `name` that the module `user` of CuPy asks for: with our functions, and
        for all others one that says that it is not supported.
        """
        module = next(self.site.glob(f"{user}*.so"))
        parts = [self.object_of(own), self.missing(own, symbols("-D", "U", module, own))]
        versions = self.objects / f"{own}.map"
        versions.write_text(f"{name} {{ global: {own}*; }};\n")
        self.link(name, folder, parts, f"-Wl,--version-script={versions}")

    def missing(self, own: str, wanted: set[str]) -> Path:
        """Compile functions for the names among `wanted` that our object has not."""
        absent = sorted(wanted - symbols("", "T", self.objects / f"{own}.o", own))
        code = NOT_SUPPORTED[own]
        source, made = self.objects / f"{own}_missing.c", self.objects / f"{own}_missing.o"
        text = "".join(f"int {name}(void) {{ return {code}; }}\n" for name in absent)
        if not source.exists() or source.read_text() != text:
            source.write_text(text)
        if stale(made, source):
            run(["gcc", "-w", "-fPIC", "-c", str(source), "-o", str(made)])
        return made

    def runtime(self) -> None:
        """Compile CuPy's binding of the CUDA runtime against our functions: the wheel's own has
        NVIDIA's inside.
        """
        self.object_of("cudart")
        module = self.objects / "runtime.o"
        if not module.exists():
            self.fetch_source()
            constants = ",".join(f"{name}={value}" for name, value in COMPILE_TIME.items())
            package = self.source / "cupy_backends" / "cuda" / "api"
            cython = [
                sys.executable,
                "-W",
                "ignore",
                "-m",
                "cython",
                "--cplus",
                "-3",
                "-I",
                ".",
                "-E",
                constants,
            ]
            settings = {**os.environ, "PYTHONPATH": str(self.home / "tools")}
            made = [str(package / "runtime.pyx"), "-o", str(package / "runtime.cpp")]
            run([*cython, *made], env=settings, cwd=self.source, stderr=subprocess.DEVNULL)
            folders = (sysconfig.get_path("include"), HERE / "headers", self.cuda_headers, ".")
            headers = [part for each in folders for part in ("-I", str(each))]
            compiled = [str(package / "runtime.cpp"), "-o", str(module)]
            run(["g++", "-w", "-O1", "-fPIC", "-c", *compiled, *headers], cwd=self.source)
        parts = [
            module,
            self.objects / "cudart.o",
            self.missing("cudart", symbols("", "U", module, "cuda")),
        ]
        self.link("runtime.so", self.objects, parts, f"-Wl,-rpath,{self.lib}")

    def replace(self) -> None:
        """Put our modules in the places of CuPy's."""
        for each in REPLACED:
            for old in self.site.glob(f"{each}.cpython*.so"):
                old.unlink()
        for name in sorted((HERE / "site").rglob("*.py")):
            target = self.site / name.relative_to(HERE / "site")
            target.parent.mkdir(exist_ok=True, parents=True)
            if stale(target, name):
                shutil.copyfile(name, target)
        for module, source in ON_HOST.items():
            package = self.site / module / "__init__.py"
            line = f"from cuda_emulator_host import replace; replace(globals(), {source!r})\n"
            if line not in package.read_text():
                package.write_text(package.read_text() + "\n" + line)
        package = self.site / "cupy" / "__init__.py"
        if PREPARE not in package.read_text():
            package.write_text(package.read_text() + PREPARE)
        target = self.site / "cupy_backends/cuda/api/runtime.so"
        if stale(target, self.objects / "runtime.so"):
            shutil.copyfile(self.objects / "runtime.so", f"{target}.new")
            Path(f"{target}.new").replace(target)

    def precompile(self) -> None:
        """Compile the header that every kernel begins with."""
        shutil.copytree(HERE / "device", self.home / "device", dirs_exist_ok=True)
        prelude = self.home / "device" / "prelude.h"
        made = prelude.with_suffix(".h.gch")
        if stale(made, *(HERE / "device").rglob("*.h")):
            options = ["-std=c++17", "-O1", "-w", "-fpermissive", "-fwrapv", "-fPIC"]
            run(["g++", *options, "-x", "c++-header", str(prelude), "-o", str(made)])

    def forget_kernels(self) -> None:
        """Remove what CuPy has kept of kernels that were compiled in another way."""
        mark = self.home / "cache" / ".complete"
        made = (self.lib / "emulated" / "libnvrtc.so.12", self.home / "device" / "prelude.h.gch")
        if stale(mark, *made):
            for folder in ("cache", "kernels"):
                shutil.rmtree(self.home / folder, ignore_errors=True)
            mark.parent.mkdir(exist_ok=True)
            mark.touch()


def stale(made: Path, *sources: Path) -> bool:
    """Return whether `made` is not there, or older than one of its sources."""
    return not made.exists() or any(made.stat().st_mtime < each.stat().st_mtime for each in sources)


def symbols(option: str, kind: str, file: Path, prefix: str) -> set[str]:
    """Return the names that nm lists for an object or a library, of one kind, that begin so."""
    command = ["nm", *option.split(), str(file)]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rows = (line.split() for line in listed.splitlines())
    start = "cuda" if prefix == "cudart" else prefix
    return {row[-1].partition("@")[0] for row in rows if kind in row and row[-1].startswith(start)}


def run(command: Sequence[str], **settings: object) -> None:
    """Run a command, which must succeed."""
    subprocess.run(command, check=True, **settings)  # type: ignore[call-overload]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
