"""The plugin manager: finds what is installed by entry points, and loads a plugin when it is first
asked for.

May import `tensor` and what lies below.
"""

from .entries import BACKENDS, KERNELS, LIBRARIES, TRANSFORMS, PluginEntry

__all__ = ["BACKENDS", "KERNELS", "LIBRARIES", "TRANSFORMS", "PluginEntry"]
