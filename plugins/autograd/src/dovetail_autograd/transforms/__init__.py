"""Transforms of functions: tensors whose arrays wrap other tensors, and the interpreters of calls
on them.

`arrays` has the wrappers and their backend, `levels` the nesting of transforms, `wrapped_calls` the
one kernel that brings a call on wrapped tensors to the innermost transform, and every other module
one interpreter or what uses it. `pytree` is public as a module.

May import `engine`, `recording` and `graph`. Nothing here is imported before the first transform.
"""

from dovetail_kernel import attach_stub

__getattr__ = attach_stub(__name__)
