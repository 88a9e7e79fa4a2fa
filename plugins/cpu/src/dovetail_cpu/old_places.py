"""Where pickles find what moved modules defined; see `dovetail_kernel.forward_old_places`."""

from __future__ import annotations

from typing import Final

OLD_PLACES: Final = {"": "shared_pages threads"}
