"""The meta device: tensors with a shape and no data, and one rule per operator that gives the shape
of its results. Rules of one family lie in its folder; here are those that several share.

May import `backend` and what lies below.
"""

from dovetail_kernel import attach_stub

__getattr__ = attach_stub(__name__)
