"""NumPy's functions as arrays of this backend call them: by pieces, in half precision, without
warnings.

May import `memory` and what lies below.
"""
