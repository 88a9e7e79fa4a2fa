"""The schema language: parsing, binding of calls, casts of arguments, and schemas inferred from
Python signatures.
"""

from dovetail_kernel import attach_stub

__getattr__ = attach_stub(__name__)
