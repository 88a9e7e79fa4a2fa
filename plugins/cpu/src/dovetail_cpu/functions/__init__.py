"""NumPy's functions as arrays of this backend call them: by pieces, rounded once.

May import `memory` and what lies below.
"""
