"""What operators that index an array as if it had one dimension check: take, put."""

from __future__ import annotations

from typing import Any

from .family import Family


class PlacesOfElements(Family):
    """Checks of indices over all elements."""

    def _check_elements(self, index: Any, size: int) -> None:
        """Refuse indices beyond `size` elements, unless values cannot be looked at."""
        xp = self.xp
        if self.lazy or not index.size:
            return
        outside = xp.logical_or(index >= size, index < -size)
        if bool(xp.any(outside)):
            raise IndexError(
                f"out of range: tried to access index {int(index[outside][0])} on a tensor of "
                f"{size} elements."
            )
