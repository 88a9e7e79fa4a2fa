"""Setting: one value of an attribute of an operator, over what was set before."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .operator import Operator


class Setting:
    """One value of an attribute of an operator that a registration sets over what was set before.

    Attributes
    ----------
    op, name
        The operator and its attribute: ``"formula"``, ``"fusion"`` or ``"batching_rule"``.
    value
        The value, in force while nothing is set over it.
    """

    __slots__ = ("name", "op", "value")

    def __init__(self, op: Operator, name: str, value: object) -> None:
        self.op = op
        self.name = name
        self.value = value

    def put(self) -> None:
        """Put the value in force."""
        self.op.settings.setdefault(self.name, []).append(self)
        setattr(self.op, self.name, self.value)

    def take_out(self) -> None:
        """Take the value out, wherever it lies by now; in force is what was set before."""
        for layer in self.op.layers():
            values = layer.settings.get(self.name, [])
            if self in values:
                values.remove(self)
                setattr(layer, self.name, values[-1].value if values else None)

    def exchange(self, value: object) -> bool:
        """Put another value in place of this one, wherever it lies by now; return whether this
        one was there.
        """
        self.value = value
        layers = [each for each in self.op.layers() if self in each.settings.get(self.name, [])]
        for layer in layers:
            if layer.settings[self.name][-1] is self:
                setattr(layer, self.name, value)
        return bool(layers)
