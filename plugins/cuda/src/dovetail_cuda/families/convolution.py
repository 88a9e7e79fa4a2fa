"""Convolutions by patches and one product of matrices: patches are taken, and gradients folded
back, by one kernel each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import cupy

from dovetail_aten.families import Convolutions, turned
from dovetail_aten.kernel_support import Window
from dovetail_aten.typing import Array

from ..kernel_support.device_code import pointwise

_DIMS: Final = 3
"""What kernels see: images have as many dimensions, of length 1 where there are fewer."""
_AXES: Final = "abc"
_GEOMETRY: Final = ", ".join(
    f"int64 size_{e}, int64 kernel_{e}, int64 stride_{e}, int64 pad_{e}, int64 apart_{e}, "
    f"int64 number_{e}"
    for e in _AXES
)
# From a place of a patch to that of the image.
_PATCHES: Final = (
    "long long rest = i; bool inside = true;\n"
    + "".join(f"const long long n_{e} = rest % number_{e}; rest /= number_{e};\n" for e in "cba")
    + "".join(f"const long long k_{e} = rest % kernel_{e}; rest /= kernel_{e};\n" for e in "cba")
    + "".join(
        f"const long long at_{e} = n_{e} * stride_{e} - pad_{e} + k_{e} * apart_{e};\n"
        f"inside = inside && at_{e} >= 0 && at_{e} < size_{e};\n"
        for e in _AXES
    )
    + "y = inside ? (T)x[((rest * size_a + at_a) * size_b + at_b) * size_c + at_c] : (T)0;\n"
)
# From a place of the image to those of all patches that have it.
_FOLDED: Final = (
    "long long rest = i; W sum = 0;\n"
    + "".join(f"const long long at_{e} = rest % size_{e}; rest /= size_{e};\n" for e in "cba")
    + "".join(
        f"for (long long k_{e} = 0; k_{e} < kernel_{e}; ++k_{e}) {{\n"
        f"const long long from_{e} = at_{e} + pad_{e} - k_{e} * apart_{e};\n"
        f"const long long n_{e} = from_{e} / stride_{e};\n"
        f"if (from_{e} < 0 || from_{e} % stride_{e} || n_{e} >= number_{e}) continue;\n"
        for e in _AXES
    )
    + "const long long patch = ((rest * kernel_a + k_a) * kernel_b + k_b) * kernel_c + k_c;\n"
    "sum += WIDE(x[((patch * number_a + n_a) * number_b + n_b) * number_c + n_c]);\n"
    "}}}\ny = (T)sum;\n"
)
_MISSING: Final = Window(1, 1, 1, 0, 1, 1)


class FusedConvolutions(Convolutions):
    """Convolutions of real numbers."""

    def _correlated(self, x: Array, weight: Array, windows: Sequence[Window], groups: int) -> Any:
        if not self._is_plain(x, weight):
            return Convolutions._correlated(self, x, weight, windows, groups)
        patches = self._matrices_of_patches(x, windows, groups)
        made = self._product(self._matrices_of_weight(weight, groups), patches)
        return made.reshape(x.shape[0], weight.shape[0], *[each.number for each in windows])

    def _spread(self, y: Array, weight: Array, windows: Sequence[Window], groups: int) -> Any:
        if not self._is_plain(y, weight):
            return Convolutions._spread(self, y, weight, windows, groups)
        left = turned(self._matrices_of_weight(weight, groups))
        columns = self._product(left, self._matrices_of_channels(y, groups))
        sizes = [each.size for each in windows]
        made = cupy.empty((y.shape[0], groups * weight.shape[1], *sizes), y.dtype)
        return _run("fold_patches", _FOLDED, columns, windows, made)

    def _weighed(self, x: Array, y: Array, windows: Sequence[Window], groups: int) -> Any:
        results = self._matrices_of_channels(y, groups)
        if not self._is_plain(x, y) or results.shape[2] > results.shape[3]:
            return Convolutions._weighed(self, x, y, windows, groups)
        patches = self._matrices_of_patches(x, windows, groups)
        products = self._product(results, turned(patches))
        return self.xp.sum(products, axis=0, dtype=y.dtype)

    def _matrices_of_patches(self, x: Array, windows: Sequence[Window], groups: int) -> Any:
        if not self._is_plain(x):
            return Convolutions._matrices_of_patches(self, x, windows, groups)
        images, channels = x.shape[0], x.shape[1] // groups
        places = math.prod([each.kernel for each in windows])
        columns = math.prod([each.number for each in windows])
        made = cupy.empty((images, groups, channels * places, columns), x.dtype)
        return _run("take_patches", _PATCHES, x, windows, made)

    def _product(self, left: Array, right: Array) -> Any:
        """Return the products of matrices; of one with all others, it is copied for each: the
        batched product that has a table of addresses takes six launches to write it.
        """
        if left.ndim < right.ndim:
            left = cupy.ascontiguousarray(
                cupy.broadcast_to(left, (*right.shape[:-2], *left.shape[-2:]))
            )
        return Convolutions._product(self, left, right)

    def _is_plain(self, *arrays: Any) -> bool:
        floats = self.precision.real_floats
        return all([each.size and each.dtype in floats for each in arrays])


def _run(name: str, code: str, x: Array, windows: Sequence[Window], made: Any) -> Any:
    """Return `made`, which the kernel `name` has filled from `x`."""
    numbers = [
        number for window in (*[_MISSING] * (_DIMS - len(windows)), *windows) for number in window
    ]
    kernel = pointwise(name, f"raw T x, {_GEOMETRY}", "T y", code)
    if made.size:
        kernel(cupy.ascontiguousarray(x), *numbers, made)
    return made
