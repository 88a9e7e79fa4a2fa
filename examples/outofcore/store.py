"""A Zarr store of samples that is as large as one likes, without taking long to write.

A few chunks are different; the files of all others are links to theirs. Reading takes what it takes
for so many bytes: every chunk is read and decompressed.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import zarr

COLUMNS = 250
ROWS = 50_000
"""Of a chunk: 48 MiB of float32."""
DIFFERENT = 8


def make_store(folder: Path, gib: float) -> Path:
    """Return the folder of a store with at least `gib` GiB of features, made if it is not there.

    It has ``x`` (samples, 250) and ``y`` (samples,), both float32, with y 0 or 1.
    """
    chunks = max(1, round(gib * 2**30 / (ROWS * COLUMNS * 4)))
    path = folder / f"{chunks}.zarr"
    if (path / "done").exists():
        return path
    path.mkdir(parents=True, exist_ok=True)
    shape = (chunks * ROWS, COLUMNS)
    packing = zarr.codecs.BloscCodec(cname="lz4", clevel=5, shuffle="bitshuffle")
    options = {"overwrite": True, "dtype": "float32", "compressors": packing}
    x = zarr.create_array(path / "x", shape=shape, chunks=(ROWS, COLUMNS), **options)
    y = zarr.create_array(path / "y", shape=shape[:1], chunks=(ROWS,), **options)
    for number in range(min(DIFFERENT, chunks)):
        here = slice(number * ROWS, (number + 1) * ROWS)
        x[here], y[here] = _samples(number)
    for number in range(DIFFERENT, chunks):
        for name, last in (("x", "/0"), ("y", "")):
            own = path / name / "c" / f"{number}{last}"
            own.parent.mkdir(parents=True, exist_ok=True)
            os.link(path / name / "c" / f"{number % DIFFERENT}{last}", own)
    (path / "done").touch()
    return path


def _samples(number: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the samples of a chunk, coarse numbers of which many are alike, and their classes."""
    draw = np.random.default_rng(number)
    rows = np.round(draw.standard_normal((ROWS // 20, COLUMNS), np.float32) * 4) / 4
    features = np.tile(rows, (20, 1))
    slope = np.linspace(-1, 1, COLUMNS, dtype=np.float32)
    noise = draw.standard_normal(ROWS, np.float32)
    return features, (features @ slope + 4 * noise > 0).astype(np.float32)
