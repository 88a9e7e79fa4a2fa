"""Tests for operator libraries: samples of operators (`OpInfo`), checks on them, comparisons.

A library describes its operators by `OpInfo` and registers them with `register_op_infos`. The
checks of the distribution dovetail-testing then test forward, out, in-place and meta variants,
gradients of every kind, forward mode, `vmap` and autocast. `check_op_infos`, the pytest plugin
(``@pytest.mark.op_infos("vision")``) and ``dovetail conformance`` run them. That distribution also
has the samples of the base library; both are imported on access.

It may import the packages below by their public names, and nothing of the front end.
"""

from ..names.stubs import attach_stub as _attach_stub

__getattr__ = _attach_stub(__name__)
