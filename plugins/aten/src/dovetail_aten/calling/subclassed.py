"""`SubclassedMeta`: the metaclass of a class that only its subclasses are made of."""

from __future__ import annotations

from typing import Any


class SubclassedMeta(type):
    """The class of ``TensorBase``, whose instances would have no data."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Refuse. Raises RuntimeError."""
        raise RuntimeError(
            "Cannot directly construct TensorBase; subclass it and then construct that. Or use "
            "dovetail.tensor."
        )
