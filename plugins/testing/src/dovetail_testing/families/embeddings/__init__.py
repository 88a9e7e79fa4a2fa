"""Rows of tables picked by indices, and bags of them."""
