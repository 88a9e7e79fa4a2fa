"""Puts ten errors into kernels, one at a time, and shows which mode of the emulator notices each.

    python tools/cuda_emulator/mutations.py

An error is noticed by an exception, or by a value that is not NumPy's.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

from run import ROOT, environment

MODES = {
    "emulated": [],
    "exact": ["--exact"],
    "shuffled": ["--shuffle", "1"],
    "races": ["--races"],
    "strict": ["--strict"],
}


def elementwise(inputs: str, outputs: str, code: str) -> Callable[..., object]:
    """Return an elementwise kernel."""
    import cupy

    return cupy.ElementwiseKernel(inputs, outputs, code, "mutant")


def raw(parameters: str, code: str) -> Callable[..., object]:
    """Return a kernel of CUDA C++."""
    import cupy

    source = f'extern "C" __global__ void mutant({parameters}) {{ {code} }}'
    return cupy.RawKernel(source, "mutant")


def wrong_dtype() -> bool:
    """Sum in float32 what was to be summed in float64."""
    import cupy

    x = cupy.full(1000, 1 / 3)
    kernel = cupy.ReductionKernel("T x", "T y", "(float)x", "a + b", "y = a", "0", "mutant")
    return bool(abs(kernel(x).get() - 1000 / 3) < 1e-9)


def host_scalar() -> bool:
    """Give an address of the host for one of the device."""
    import cupy
    import numpy as np

    x = cupy.ones(4)
    kernel = raw("double* x, const double* y", "x[threadIdx.x] += y[threadIdx.x];")
    kernel((1,), (4,), (x, np.uintp(8)))
    return bool((x.get() == 2).all())


def missing_bound() -> bool:
    """Write an element behind the last."""
    import cupy

    x = cupy.zeros(64)
    raw("double* x, int n", "if (threadIdx.x <= n) x[threadIdx.x] = 1;")((1,), (128,), (x, 64))
    return bool((x.get() == 1).all())


def wrong_device() -> bool:
    """Run on one device with memory of the other."""
    import cupy
    import numpy as np

    with cupy.cuda.Device(1):
        y = cupy.ones(4)
    x = cupy.zeros(4)
    kernel = raw("double* x, const double* y", "x[threadIdx.x] = y[threadIdx.x];")
    kernel((1,), (4,), (x, np.uintp(y.data.ptr)))
    return bool((x.get() == 1).all())


def use_after_free() -> bool:
    """Read memory that was given back."""
    import cupy
    import numpy as np

    y = cupy.ones(1 << 16)
    address = np.uintp(y.data.ptr)
    del y
    x = cupy.zeros(4)
    raw("double* x, const double* y", "x[threadIdx.x] = y[threadIdx.x];")((1,), (4,), (x, address))
    return bool((x.get() == 1).all())


def lost_update() -> bool:
    """Add without an atomic operation."""
    import cupy

    total = cupy.zeros(1)
    elementwise("T x, raw T total", "T y", "T* sum = (T*)&total[0]; *sum += x; y = x;")(
        cupy.ones(1000), total
    )
    return bool(total.get()[0] == 1000)


def order_of_threads() -> bool:
    """Read what another thread writes."""
    import cupy

    x = cupy.zeros(300)
    code = "T* all = (T*)&x[0]; if (i > 0) all[i] = all[i - 1] + 1; y = all[i];"
    elementwise("T z, raw T x", "T y", code)(cupy.zeros(300), x)
    return bool((x.get() == range(300)).all())


def missing_barrier() -> bool:
    """Read shared memory before all have written it."""
    import cupy

    x, y = cupy.arange(64.0), cupy.zeros(64)
    code = """__shared__ double part[64];
    part[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = part[63 - threadIdx.x];
    if (blockDim.x == 1) __syncthreads();"""
    raw("const double* x, double* y", code)((1,), (64,), (x, y))
    return bool((y.get() == x.get()[::-1]).all())


def barrier_in_a_branch() -> bool:
    """Wait for a warp that waits for the block."""
    import cupy

    x = cupy.zeros(64)
    code = """if (threadIdx.x % 2) __syncthreads(); else __syncwarp();
    x[threadIdx.x] = 1;"""
    raw("double* x", code)((1,), (64,), (x,))
    return bool((x.get() == 1).all())


def no_error() -> bool:
    """Do what is right: nothing is to be noticed."""
    import cupy

    x = cupy.arange(64.0)
    code = """__shared__ double part[64];
    part[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = part[63 - threadIdx.x];"""
    raw("double* x", code)((1,), (64,), (x,))
    return bool((x.get() == cupy.arange(63.0, -1, -1).get()).all())


def unknown_function() -> bool:
    """Call a function of the host's library that no device has."""
    import cupy

    code = "const std::string text = std::to_string(x); y = x + text.size() * 0;"
    return bool((elementwise("T x", "T y", code)(cupy.ones(3)).get() == 1).all())


MUTANTS = {
    each.__name__: each
    for each in (
        wrong_dtype,
        host_scalar,
        missing_bound,
        wrong_device,
        use_after_free,
        lost_update,
        order_of_threads,
        missing_barrier,
        barrier_in_a_branch,
        unknown_function,
        no_error,
    )
}


def main() -> None:
    """Print the table."""
    caught = dict.fromkeys(MODES, 0)
    print(f"{'':20}", *[f"{mode:9}" for mode in MODES])
    for name in MUTANTS:
        row = []
        for mode, options in MODES.items():
            command = [sys.executable, __file__, name, mode]
            done = subprocess.run(
                command, env=environment(options), cwd=ROOT, capture_output=True, check=False
            )
            caught[mode] += bool(done.returncode)
            row.append("noticed" if done.returncode else "-")
        print(f"{name:20}", *[f"{each:9}" for each in row])
    print(f"{'of ' + str(len(MUTANTS) - 1):20}", *[f"{each:<9}" for each in caught.values()])


def run_one(name: str, mode: str) -> int:
    """Return whether a mutant is noticed; in strict mode values are not computed."""
    right = MUTANTS[name]()
    return 0 if right or mode == "strict" else 1


if __name__ == "__main__":
    sys.exit(run_one(*sys.argv[1:]) if len(sys.argv) > 1 else main())
