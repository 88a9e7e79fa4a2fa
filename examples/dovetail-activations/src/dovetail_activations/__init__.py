"""Two published activations with a learnable parameter: squareplus and snake."""

from .modules import Snake, Squareplus

__all__ = ["Snake", "Squareplus"]
