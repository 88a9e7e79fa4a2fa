"""Steps of optimizers for many parameters in one launch: their addresses are arguments."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import cupy
import numpy as np

from .kernel_support.device_code import by_rows

_MOST: Final = 32
"""Parameters in a launch: arguments have at most 4 KiB."""
_ARRAYS: Final = 4
_NUMBERS: Final = 8
_THREADS: Final = 256
_MOST_BLOCKS: Final = 128
_GROUP: Final = np.dtype(
    [
        ("arrays", np.uint64, (_ARRAYS, _MOST)),
        ("sizes", np.int64, (_MOST,)),
        ("numbers", np.float64, (_NUMBERS, _MOST)),
    ]
)
_CODE: Final = f"""
struct parameters {{
  T* arrays[{_ARRAYS}][{_MOST}];
  long long sizes[{_MOST}];
  double numbers[{_NUMBERS}][{_MOST}];
}};
extern "C" __global__ void dovetail_NAME(const parameters all) {{
  const int which = blockIdx.y;
  T *p = all.arrays[0][which], *grads = all.arrays[1][which];
  #define NUMBER(place) ((W)all.numbers[place][which])
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < all.sizes[which];
       i += (long long)gridDim.x * blockDim.x) {{
    W value = (W)p[i], g = (W)grads[i];
    RULE
    p[i] = (T)value;
  }}
}}
"""
_ADAM: Final = """
    T *means = all.arrays[2][which], *squares = all.arrays[3][which];
    g = g * NUMBER(6) + NUMBER(4) * value;
    value *= NUMBER(5);
    const W m = (W)means[i] + (g - (W)means[i]) * (1 - NUMBER(2));
    const W s = (W)squares[i] * NUMBER(3) + g * g * (1 - NUMBER(3));
    means[i] = (T)m;
    squares[i] = (T)s;
    value -= NUMBER(0) * m / (sqrt(s) + NUMBER(1));
"""
_SGD: Final = """
    T* buffers = all.arrays[2][which];
    g = g * NUMBER(5) + NUMBER(3) * value;
    const W b = (W)buffers[i] * NUMBER(1) + g * NUMBER(2);
    buffers[i] = (T)b;
    value -= NUMBER(0) * (NUMBER(4) != 0 ? g + NUMBER(1) * b : b);
"""


def _step(
    name: str, rule: str, arrays: Sequence[Sequence[Any]], numbers: Sequence[Sequence[float]]
) -> None:
    first = arrays[0][0]
    code = _CODE.replace("NAME", name).replace("RULE", rule)
    kernel = by_rows(name, first.dtype, code)
    with cupy.cuda.Device(first.device.id):
        for start in range(0, len(arrays), _MOST):
            group = np.zeros((), _GROUP)
            members = arrays[start : start + _MOST]
            for place, own in enumerate(members):
                group["sizes"][place] = own[0].size
                for kind, array in enumerate(own):
                    group["arrays"][kind, place] = array.data.ptr
                for kind, number in enumerate(numbers[start + place]):
                    group["numbers"][kind, place] = number
            blocks = -(-int(group["sizes"].max()) // _THREADS)
            if blocks:
                grid = (min(blocks, _MOST_BLOCKS), len(members))
                kernel(grid, (_THREADS,), (group,))


STEPS: Final = {
    "adam": partial(_step, "adam", _ADAM),
    "sgd_with_momentum": partial(_step, "sgd", _SGD),
}
"""By the rules of `ArrayBackend.fused_step`."""
