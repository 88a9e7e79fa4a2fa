"""The operators of neural networks that are not functions at the top."""

from ._generated.nn import *  # noqa: F403
