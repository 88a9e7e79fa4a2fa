"""Runs a command in which the real CuPy finds two emulated devices.

    python tools/cuda_emulator/run.py [--strict] [--exact] [--shuffle SEED] [--races] COMMAND...

emulated (default)  kernels run, compiled for the processor
--strict            NVIDIA's own NVRTC compiles them for sm_80 (EMULATOR_ARCHITECTURE=90: sm_90);
                    launches are counted and do nothing
--exact             every array is a block of its own, which ends at memory that cannot be touched
--shuffle SEED      all threads of elementwise kernels run, in random order
--races             two threads that touch the same memory, one of them writing, without a barrier
                    between them, are an error
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOME = Path(os.environ.get("EMULATOR_HOME", ROOT / "build" / "cuda-emulator"))


def environment(options: Sequence[str] = ()) -> dict[str, str]:
    """Return the variables that make a process find the emulated devices."""
    strict, races = "--strict" in options, "--races" in options
    mode = "strict" if strict else "emulated"
    nvrtc = HOME / "strict/nvidia/cuda_nvrtc/lib" if strict else HOME / "lib/emulated"
    libraries = [HOME / "lib", nvrtc, HOME / "site/nvidia/cuda_runtime/lib"]
    made = {
        **os.environ,
        "EMULATOR_HOME": str(HOME),
        "EMULATOR_MODE": mode,
        "EMULATOR_KERNELS": os.environ.get("EMULATOR_KERNELS", str(HOME / "kernels")),
        "CUDA_PATH": str(HOME / "site/nvidia/cuda_runtime"),  # not another version's headers
        "CUPY_ACCELERATORS": "",  # CUB is compiled device code
        "CUPY_CACHE_DIR": str(HOME / "cache" / f"{mode}{'-races' * races}"),
        "NUMBA_DISABLE_CUDA": "1",  # it wants more of a driver, and is asked by torch
        "LD_LIBRARY_PATH": joined(libraries, "LD_LIBRARY_PATH"),
        "PYTHONPATH": joined([HOME / "site"], "PYTHONPATH"),
    }
    if "--exact" in options:
        made["EMULATOR_EXACT"] = "1"
    if "--shuffle" in options:
        made["EMULATOR_SHUFFLE"] = options[list(options).index("--shuffle") + 1]
    if races:
        made |= {"EMULATOR_FLAGS": "-fsanitize=thread", "EMULATOR_RACES": "1"}
    return made


def joined(folders: Sequence[Path], variable: str) -> str:
    """Return the folders before those that the variable names already."""
    return os.pathsep.join([*map(str, folders), *filter(None, [os.environ.get(variable)])])


def main(arguments: Sequence[str]) -> str | None:
    """Become the command; return why not."""
    rest = list(arguments)
    options = []
    while rest and rest[0].startswith("--"):
        options.append(rest.pop(0))
        if options[-1] == "--shuffle":
            options.append(rest.pop(0))
    if not rest:
        return __doc__
    if not (HOME / "site" / "cupy").exists():
        return "The CUDA emulator is not built: make cuda-emulator"
    os.execvpe(rest[0], rest, environment(options))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
