"""A loss curve as an SVG file and a CSV file beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

WIDTH, HEIGHT, MARGIN = 720, 360, 48


def write_loss_curve(losses: Sequence[float], path: Path) -> Path:
    """Write the loss per step, on a logarithmic scale, to `path` (SVG) and its numbers to the
    ``.csv`` beside it.

    Parameters
    ----------
    losses
        One positive loss per training step.
    path
        Where the SVG goes.

    Returns
    -------
    Path
        `path`.
    """
    rows = "".join(f"{step},{loss:.6g}\n" for step, loss in enumerate(losses, 1))
    path.with_suffix(".csv").write_text("step,loss\n" + rows)
    logs = [math.log10(max(loss, 1e-6)) for loss in losses]
    low, high = math.floor(min(logs)), math.ceil(max(logs))

    def x(step: float) -> float:
        return MARGIN + (WIDTH - 2 * MARGIN) * step / max(len(losses) - 1, 1)

    def y(log: float) -> float:
        return HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * (log - low) / max(high - low, 1)

    curve = " ".join(f"{x(step):.1f},{y(log):.1f}" for step, log in enumerate(logs))
    window = max(len(logs) // 60, 1)
    smooth = " ".join(
        f"{x(step):.1f},{y(sum(logs[step : step + window]) / window):.1f}"
        for step in range(len(logs) - window + 1)
    )
    grid = "".join(
        f'<line x1="{MARGIN}" x2="{WIDTH - MARGIN}" '
        f'y1="{y(power):.1f}" y2="{y(power):.1f}" stroke="#ddd"/>'
        f'<text x="{MARGIN - 8}" y="{y(power) + 4:.1f}" text-anchor="end">1e{power}</text>'
        for power in range(low, high + 1)
    )
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">'
        f'<rect width="100%" height="100%" fill="white"/>{grid}'
        f'<polyline points="{curve}" fill="none" stroke="#9cf" stroke-width="0.7"/>'
        f'<polyline points="{smooth}" fill="none" stroke="#036" stroke-width="2"/>'
        f'<text x="{WIDTH / 2}" y="{HEIGHT - 12}" '
        f'text-anchor="middle">step (1 to {len(losses)})</text>'
        f'<text x="{WIDTH / 2}" y="24" text-anchor="middle">training loss</text></svg>\n'
    )
    return path
