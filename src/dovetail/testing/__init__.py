"""Tests for operator libraries: samples of operators (`OpInfo`), checks on them, comparisons.

A library describes its operators by `OpInfo` and says with `register_op_infos` where they are. The
checks of the distribution dovetail-testing then show that forward, out, in-place and meta variants,
gradients of every kind, forward mode, `vmap` and autocast fit together: `check_op_infos` runs them,
and so do the plugin for pytest (``@pytest.mark.op_infos("vision")``) and ``dovetail conformance``.
The samples of the base library are there as well; both are imported when they are asked for.

It may import the packages below by their public names, and nothing of the front end.
"""

from ..names.stubs import attach_stub as _attach_stub

__getattr__ = _attach_stub(__name__)
