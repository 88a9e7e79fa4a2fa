"""Convolutions as products of BLAS with the patches of a few images, or of a few lines of windows,
at a time: patches that stay in the cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy
import numpy as np

from dovetail_aten.families import FEW, Convolutions
from dovetail_aten.kernel_support import Window

from ..functions.patches import add_patches, write_patches
from ..functions.products import matmul
from ..parallel.threads import SHARED_FROM, run_pieces

_ELEMENTS: Final = 1 << 18
"""How many elements of patches are made at a time: they stay in the cache."""
_MOST_ELEMENTS: Final = 1 << 22
"""How many where one image has few windows: BLAS reads the weight once for each product."""
_SMALL: Final = 1 << 14
"""Products of an image's elements up to which patches cost more than they save."""
_COLUMNS: Final = 256
"""Windows of an image up to which those of several images are columns of one matrix."""
_PIECES: Final = 8
"""Into how many pieces, which threads share, the blocks are parted: the same for any number of
threads, and so are the sums of gradients.
"""


class Block(NamedTuple):
    """Some windows over some images.

    Attributes
    ----------
    images
        Which images.
    windows
        The windows, of which those along the first dimension may be a part.
    columns
        Which windows of an image these are.
    shape
        That of the matrices of patches.
    """

    images: slice
    windows: tuple[Window, ...]
    columns: slice
    shape: tuple[int, ...]


class FastConvolutions(Convolutions):
    """Convolutions by products over little memory; small ones channel by channel."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        compiled = self.capabilities.compiled
        self._write = compiled("write_patches", write_patches)
        self._add = compiled("add_patches", add_patches)
        self._correlated_direct = compiled("convolution_direct", super()._correlated)
        self._spread_direct = compiled("convolution_direct.input", super()._spread)
        self._weighed_direct = compiled("convolution_direct.weight", super()._weighed)

    def _convolved(
        self,
        input: np.ndarray,
        weight: np.ndarray,
        bias: np.ndarray | None,
        windows: Sequence[Window],
        transposed: bool,
        groups: int,
    ) -> Any:
        if bias is None or bias.dtype in self.precision.halves:
            return Convolutions._convolved(self, input, weight, bias, windows, transposed, groups)
        made = Convolutions._convolved(self, input, weight, None, windows, transposed, groups)
        return numpy.add(made, bias.reshape(-1, *[1] * len(windows)), out=made)

    def _correlated(
        self, x: np.ndarray, weight: np.ndarray, windows: Sequence[Window], groups: int
    ) -> Any:
        """Return ``(images, channels out, *counts)``."""
        images, rows = x.shape[0], weight.shape[0] // groups
        if _is_direct(weight.shape[0], weight.shape[1], windows, groups):
            return self._correlated_direct(x, weight, tuple(windows), groups)
        if not x.size or not weight.size:
            return super()._correlated(x, weight, windows, groups)
        parted, matrices = _parted(x, groups), weight.reshape(groups, rows, -1)
        counts = [window.number for window in windows]
        made = numpy.empty((images, groups, rows, math.prod(counts)), x.dtype)

        def compute(piece: int, block: Block, patches: np.ndarray) -> None:
            self._write_block(patches, parted, block)
            target = made[block.images, :, :, block.columns]
            if len(patches) == len(target):
                matmul(matrices, patches, out=target)
            else:
                product = matmul(matrices, patches).reshape(groups, rows, len(target), -1)
                numpy.copyto(target, product.transpose(2, 0, 1, 3))

        if _are_patches(windows):
            matmul(matrices, parted.reshape(*parted.shape[:3], -1), out=made)
        else:
            _by_blocks(parted.shape[:3], x.dtype, windows, compute)
        return made.reshape(images, groups * rows, *counts)

    def _spread(self, y: Any, weight: Any, windows: Sequence[Window], groups: int) -> Any:
        """Return ``(images, channels in, *sizes)``."""
        images, channels, rows = y.shape[0], weight.shape[1], weight.shape[0] // groups
        if _is_direct(weight.shape[0], weight.shape[1], windows, groups):
            return self._spread_direct(y, weight, tuple(windows), groups)
        if not y.size or not weight.size:
            return super()._spread(y, weight, windows, groups)
        sizes = [window.size for window in windows]
        matrices = weight.reshape(groups, rows, -1).swapaxes(1, 2)
        results = y.reshape(images, groups, rows, -1)
        made: Any
        if _are_patches(windows):
            made = matmul(matrices, results)
        else:
            made = numpy.zeros((images, groups, channels, *sizes), y.dtype)

            def compute(piece: int, block: Block, patches: np.ndarray) -> None:
                matmul(matrices, _operand(results, block, patches), out=patches)
                target = made[block.images]
                self._add(target, _by_places(patches, target), block.windows)

            _by_blocks(made.shape[:3], y.dtype, windows, compute)
        return made.reshape(images, groups * channels, *sizes)

    def _weighed(self, x: np.ndarray, y: np.ndarray, windows: Sequence[Window], groups: int) -> Any:
        """Return ``(groups, channels out of a group, channels in of a group * places)``."""
        images, rows = x.shape[0], y.shape[1] // groups
        if _is_direct(y.shape[1], x.shape[1] // groups, windows, groups):
            return self._weighed_direct(x, y, tuple(windows), groups)
        if not x.size or not y.size:
            return super()._weighed(x, y, windows, groups)
        parted, results = _parted(x, groups), y.reshape(images, groups, rows, -1)
        sums: dict[int, Any] = {}

        def compute(piece: int, block: Block, patches: np.ndarray) -> None:
            self._write_block(patches, parted, block)
            # BLAS is slow where a large right operand is transposed.
            made = matmul(patches, _operand(results, block, patches).swapaxes(-1, -2))
            for each in made:
                if piece in sums:
                    numpy.add(sums[piece], each, out=sums[piece])
                else:
                    sums[piece] = each

        _by_blocks(parted.shape[:3], y.dtype, windows, compute)
        first, *others = [sums[piece] for piece in sorted(sums)]
        for each in others:
            numpy.add(first, each, out=first)
        return numpy.ascontiguousarray(first.swapaxes(-1, -2))

    def _write_block(self, patches: np.ndarray, x: np.ndarray, block: Block) -> None:
        """Write the patches of ``(images, groups, channels, *sizes)``."""
        images = x[block.images]
        self._write(_by_places(patches, images), images, block.windows)


def _is_direct(rows: int, channels: int, windows: Sequence[Window], groups: int) -> bool:
    """Return whether a convolution without patches is faster: of groups of one channel, of which
    few `rows` are made, or of a small image.
    """
    if channels == 1 and rows <= FEW * groups:
        return True
    products = math.prod([window.kernel * window.number for window in windows])
    return rows * channels * products <= _SMALL


def _are_patches(windows: Sequence[Window]) -> bool:
    """Return whether images are their own patches."""
    return all(
        [
            each.kernel == each.stride == 1 and not each.padding and each.number == each.size
            for each in windows
        ]
    )


def _parted(x: np.ndarray, groups: int) -> Any:
    """Return ``(images, channels, *sizes)`` as ``(images, groups, channels, *sizes)``."""
    parted = x.reshape(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:])
    return numpy.ascontiguousarray(parted)


def _operand(results: Any, block: Block, patches: np.ndarray) -> Any:
    """Return the part of ``(images, groups, rows, windows)`` that is multiplied with patches."""
    part = results[block.images, :, :, block.columns]
    if len(patches) == len(part):
        return part
    return part.transpose(1, 2, 0, 3).reshape(1, *part.shape[1:3], -1)


def _by_places(patches: np.ndarray, images: np.ndarray) -> Any:
    """Return matrices of patches as ``(images, groups, channels, places, windows)``."""
    number, groups, channels = images.shape[:3]
    if len(patches) == number:
        return patches.reshape(number, groups, channels, -1, patches.shape[-1])
    windows = patches.shape[-1] // number
    return patches.reshape(groups, channels, -1, number, windows).transpose(3, 0, 1, 2, 4)


def _by_blocks(
    lead: tuple[int, ...], dtype: object, windows: Sequence[Window], compute: Callable[..., None]
) -> None:
    """Call ``compute(piece, block, patches)`` for all blocks over ``(images, groups, channels)``.

    The memory for patches is ``(images, groups, channels * places, windows)``; of images with few
    windows ``(1, groups, channels * places, images * windows)``, those of an image together.
    """
    pieces, most, elements = _blocks_of(lead, tuple(windows))

    def some(first: int, last: int) -> None:
        memory: Any = numpy.empty(most, dtype)
        for piece in range(first, last):
            for block in pieces[piece]:
                shape = block.shape
                patches = memory[: math.prod(shape)].reshape(shape)
                compute(piece, block, patches)

    run_pieces(some, len(pieces), elements)


@lru_cache(256)
def _blocks_of(
    lead: tuple[int, ...], windows: tuple[Window, ...]
) -> tuple[list[list[Block]], int, int]:
    """Return the blocks of each piece, the elements of the patches of the largest block, and those
    of all patches.
    """
    images, groups, channels = lead
    number = math.prod([window.number for window in windows])
    places = channels * math.prod([window.kernel for window in windows])
    elements = groups * places * number
    step = max(_ELEMENTS // elements, 1)
    if images * elements >= SHARED_FROM:
        step = min(step, -(-images // _PIECES))
    if number < _COLUMNS:
        step = max(step, min(-(-_COLUMNS // number), _MOST_ELEMENTS // elements))
        step = -(-images // -(-images // step))
    parts = _parts_of(windows, number, elements)
    starts = range(0, images, step)
    count = min(_PIECES, len(starts))
    pieces: list[list[Block]] = [[] for _ in range(count)]
    for index, start in enumerate(starts):
        over = slice(start, min(start + step, images))
        for some, columns in parts:
            matrices, width = over.stop - start, columns.stop - columns.start
            if number < _COLUMNS:
                matrices, width = 1, matrices * width
            shape = (matrices, groups, places, width)
            pieces[index * count // len(starts)].append(Block(over, some, columns, shape))
    most = max([math.prod(block.shape) for piece in pieces for block in piece])
    return pieces, most, images * elements


def _parts_of(
    windows: Sequence[Window], number: int, elements: int
) -> list[tuple[tuple[Window, ...], slice]]:
    """Return the windows in parts along the first dimension, if their patches have many elements,
    and which of an image's windows each has.
    """
    first, *inner = windows
    line = number // first.number
    lines = first.number
    if elements > _ELEMENTS:
        lines = max(_ELEMENTS * first.number // elements, -(-_COLUMNS // line), 1)
    parts = []
    for start in range(0, first.number, lines):
        stop = min(start + lines, first.number)
        padding = first.padding - start * first.stride
        part = first._replace(padding=padding, number=stop - start)
        parts.append(((part, *inner), slice(start * line, stop * line)))
    return parts
