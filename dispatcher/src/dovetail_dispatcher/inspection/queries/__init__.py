"""Questions about the operator table, about schemas and about kernels."""
