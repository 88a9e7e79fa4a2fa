"""`draw_tensor`: a tensor as HTML, with a line for one dimension and an image for two."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode
from collections.abc import Sequence
from html import escape
from math import isfinite
from typing import Any, Final

from dovetail_aten import Tensor

_MOST: Final = 256
"""How many values a line, or a side of a picture, shows; of more, each n-th is shown."""
_LOW, _HIGH, _MISSING = (33, 60, 92), (247, 236, 205), (200, 60, 60)


class TensorDrawing:
    """A tensor as HTML, which notebooks show.

    Attributes
    ----------
    html : str
        Self-contained HTML without scripts or external styles and files.
    """

    def __init__(self, html: str, text: str) -> None:
        self.html = html
        self._text = text

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return self.html


def draw_tensor(tensor: Tensor) -> TensorDrawing:
    """Draw a tensor for a notebook.

    Parameters
    ----------
    tensor : Tensor
        A tensor of any shape, dtype and device. Complex values are drawn as magnitudes; above two
        dimensions only the range is shown.

    Returns
    -------
    TensorDrawing
        Dtype, shape, device and range; a line for one dimension, an image for two. In the image,
        dark means low, light means high, and red means nan or infinite.

    Raises
    ------
    TypeError
        If `tensor` is not a tensor.
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"draw_tensor() takes a tensor, not {type(tensor).__name__}")
    head = _head(tensor)
    if tensor.device.type == "meta" or not tensor.numel():
        return TensorDrawing(f"<div><code>{escape(head)}</code></div>", head)
    values = tensor.detach().cpu()
    values = values.abs() if values.is_complex() else values.double()
    finite = values[values.isfinite()]
    if not finite.numel():
        text = f"{head}, no finite value"
        return TensorDrawing(f"<div><code>{escape(text)}</code></div>", text)
    low, high = finite.min().item(), finite.max().item()
    text = f"{head}, {low:.4g} to {high:.4g}, mean {finite.mean().item():.4g}"
    if missing := values.numel() - finite.numel():
        text += f", {missing} not finite"
    picture = ""
    if values.ndim == 1 and values.numel() > 1:
        picture = _line(_thinned(values).tolist(), low, high)
    elif values.ndim == 2:
        picture = _picture(_thinned(values).tolist(), low, high, text)
    return TensorDrawing(f"<div><code>{escape(text)}</code><br>{picture}</div>", text)


def _head(tensor: Tensor) -> str:
    dtype = str(tensor.dtype).rpartition(".")[2]
    graph = ", requires grad" if tensor.requires_grad else ""
    return f"{dtype}{list(tensor.shape)} on {tensor.device}{graph}"


def _thinned(values: Tensor) -> Any:
    """Return every n-th value along each dimension, `_MOST` at most."""
    return values[tuple(slice(None, None, -(-size // _MOST)) for size in values.shape)]


def _line(values: Sequence[float], low: float, high: float) -> str:
    """Return a line through the finite values, broken at others."""
    width, height = 320.0, 48.0
    step, scale = width / (len(values) - 1), (height - 4) / ((high - low) or 1)
    parts: list[str] = []
    command = "M"
    for number, value in enumerate(values):
        if isfinite(value):
            parts.append(f"{command}{number * step:.1f} {height - 2 - (value - low) * scale:.1f}")
            command = "L"
        else:
            command = "M"
    return (
        f'<svg width="{width:.0f}" height="{height:.0f}" role="img">'
        f'<path d="{"".join(parts)}" fill="none" stroke="#7a4b1e" stroke-width="1.5"/></svg>'
    )


def _picture(rows: Sequence[Sequence[float]], low: float, high: float, title: str) -> str:
    """Return the values as pixels of a picture."""
    span = (high - low) or 1
    lines = [b"\0" + b"".join(_pixel(value, low, span) for value in row) for row in rows]
    height, width = len(rows), len(rows[0])
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + b"".join(
        (
            _chunk(b"IHDR", header),
            _chunk(b"IDAT", zlib.compress(b"".join(lines))),
            _chunk(b"IEND", b""),
        )
    )
    scale = max(1, 240 // max(width, height))
    return (
        f'<img src="data:image/png;base64,{b64encode(data).decode()}" alt="{escape(title)}" '
        f'width="{width * scale}" height="{height * scale}" style="image-rendering: pixelated">'
    )


def _pixel(value: float, low: float, span: float) -> bytes:
    if not isfinite(value):
        return bytes(_MISSING)
    share = (value - low) / span
    pairs = zip(_LOW, _HIGH, strict=True)
    return bytes(round(dark + (light - dark) * share) for dark, light in pairs)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
