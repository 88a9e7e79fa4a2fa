"""The meta device: tensors with a shape and no data, and one rule per operator that gives the shape
of its results.

May import `backend` and what lies below.
"""
