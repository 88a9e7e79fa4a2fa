"""Samples of operators, and the checks that run on them: for the tests of any operator library.

A library describes each of its operators by an `OpInfo`, and says with `register_op_infos` where
they are. The checks stand higher, where there are arrays and gradients, and are installed here, so
that a test suite finds both without importing either. The room imports the kernel, the schemas and
the operator table, and no array library; importing it loads nothing but this module.
"""

from dovetail_kernel import attach_stub

__getattr__ = attach_stub(__name__)
