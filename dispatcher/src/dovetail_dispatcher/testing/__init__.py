"""Samples of operators, and the checks that run on them: for the tests of any operator library.

A library describes each of its operators by an `OpInfo`, and declares them with
`register_op_infos`. The checks need arrays and gradients; they are defined in another package and
installed here, so that test suites need not import it. This package imports the kernel, the schemas
and the operator table, but no array library. Its modules are imported when first used.
"""

from dovetail_kernel import attach_stub

__getattr__ = attach_stub(__name__)
