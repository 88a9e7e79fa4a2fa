"""Facts about the machine and its packages for bug reports, as in ``torch.utils.collect_env``:
``python -m dovetail.utils.collect_env`` prints it.
"""

from __future__ import annotations

import platform
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import distributions, version
from typing import Final, NamedTuple

__all__ = ["SystemEnv", "get_env_info", "get_pip_packages", "get_pretty_env_info", "main", "run"]

_ABSENT: Final = "N/A"
_PACKAGES: Final = ("dovetail", "numpy", "scipy", "cupy", "numba", "dask", "mpi4py", "torch", "ml")


class SystemEnv(NamedTuple):
    """The facts about a machine: versions; None or "N/A" if unavailable."""

    torch_version: str
    is_debug_build: str
    cuda_compiled_version: str | None
    gcc_version: str | None
    clang_version: str | None
    cmake_version: str | None
    os: str
    libc_version: str
    python_version: str
    python_platform: str
    is_cuda_available: str
    cuda_runtime_version: str | None
    nvidia_driver_version: str | None
    nvidia_gpu_models: str | None
    cudnn_version: str | None
    pip_version: str
    pip_packages: str
    conda_packages: str | None
    cpu_info: str


def run(command: str | Sequence[str]) -> tuple[int, str, str]:
    """Return the exit status of a command (127 if it does not exist), its output, and its error
    output.

    Parameters
    ----------
    command
        A command line for the shell, or its words.
    """
    try:
        done = subprocess.run(
            command, shell=isinstance(command, str), capture_output=True, text=True, check=False
        )
    except OSError as error:
        return 127, "", str(error)
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def _first_line(*command: str) -> str | None:
    """Return the first line that a command prints; None if it fails."""
    status, printed, _ = run(command)
    return printed.splitlines()[0] if status == 0 and printed else None


def get_pip_packages() -> str:
    """Return the relevant installed packages, one per line: ``numpy==2.1.0``."""
    found = {
        f"{each.name}=={each.version}"
        for each in distributions()
        if each.name and each.name.lower().startswith(_PACKAGES)
    }
    return "\n".join(sorted(found))


def get_env_info() -> SystemEnv:
    """Return the facts about this machine."""
    from dovetail import cuda

    has_cuda = cuda.is_available()
    names = [cuda.get_device_name(place) for place in range(cuda.device_count())]
    drivers = _first_line("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")
    bits = 64 if sys.maxsize > 2**32 else 32
    return SystemEnv(
        torch_version=version("dovetail"),
        is_debug_build="False",
        cuda_compiled_version=None,
        gcc_version=_first_line("gcc", "--version"),
        clang_version=_first_line("clang", "--version"),
        cmake_version=_first_line("cmake", "--version"),
        os=f"{platform.system()} {platform.release()} ({platform.machine()})",
        libc_version="-".join(platform.libc_ver()) or _ABSENT,
        python_version=f"{sys.version} ({bits}-bit runtime)".replace("\n", " "),
        python_platform=platform.platform(),
        is_cuda_available=str(has_cuda),
        cuda_runtime_version=None,
        nvidia_driver_version=drivers,
        nvidia_gpu_models="\n".join(names) or None,
        cudnn_version=None,
        pip_version="pip3",
        pip_packages=get_pip_packages(),
        conda_packages=None,
        cpu_info=platform.processor() or platform.machine(),
    )


_LINES: Final = {
    "Dovetail version": "torch_version",
    "OS": "os",
    "GCC version": "gcc_version",
    "Clang version": "clang_version",
    "CMake version": "cmake_version",
    "Libc version": "libc_version",
    "Python version": "python_version",
    "Python platform": "python_platform",
    "Is CUDA available": "is_cuda_available",
    "GPU models and configuration": "nvidia_gpu_models",
    "Nvidia driver version": "nvidia_driver_version",
    "CPU": "cpu_info",
}


def get_pretty_env_info() -> str:
    """Return the facts about this machine as text for a bug report."""
    facts = get_env_info()._asdict()
    lines = [f"{words}: {facts[name] or _ABSENT}" for words, name in _LINES.items()]
    packages = [f"[pip3] {each}" for each in str(facts["pip_packages"]).splitlines()]
    return "\n".join([*lines, "", "Versions of relevant libraries:", *packages])


def main() -> None:
    """Print the facts about this machine."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
