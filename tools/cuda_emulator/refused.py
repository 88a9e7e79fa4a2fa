"""Gives every kernel that has run on the emulator to NVIDIA's compiler, and shows what it refuses.

    python tools/cuda_emulator/refused.py

The emulator notes in its folder `sources` what CuPy has asked the compiler for. What is made of it
is kept, so that only what is new takes time. Kernels that g++ refuses, too, are left out: those are
CuPy's own ways to find out whether there is a function.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from run import HOME, ROOT, environment

PROCESSES = 2


def main() -> int:
    """Compile what has been noted, in processes; return whether something was refused."""
    if "EMULATOR_SHARE" not in os.environ:
        settings = environment(["--strict"])
        started = [
            subprocess.Popen(
                [sys.executable, __file__], env={**settings, "EMULATOR_SHARE": str(share)}, cwd=ROOT
            )
            for share in range(PROCESSES)
        ]
        return max(each.wait() for each in started)
    share = int(os.environ["EMULATOR_SHARE"])
    refused = [error for each in noted()[share::PROCESSES] if (error := compile_noted(each))]
    print(f"{len(noted()[share::PROCESSES])} kernels, {len(refused)} refused")
    return bool(refused)


def noted() -> list[Path]:
    """Return the files that hold what was to be compiled."""
    return sorted(HOME.glob("sources/*.json"))


def compile_noted(file: Path) -> str | None:
    """Return what the compiler says of a kernel, if it refuses it."""
    from cupy.cuda import compiler

    (source, options, *given), named = json.loads(file.read_text())
    try:
        compiler._compile_with_cache_cuda(source, tuple(options), *given, **named)
    except compiler.CompileException as error:
        print(f"{file.name}: {options}\n{error}\n", flush=True)
        return str(error)
    return None


if __name__ == "__main__":
    sys.exit(main())
