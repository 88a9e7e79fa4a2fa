"""Value types that describe elements and tensors: dtypes, layouts, type promotion, and the bits of
a signature.

Imports nothing of the package but `errors`.
"""
