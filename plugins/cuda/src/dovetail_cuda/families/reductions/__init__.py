"""Order along a dimension, and indices of extremes."""
