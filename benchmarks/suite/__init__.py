"""The whole library against PyTorch, in groups: rows, measuring, reports, pairs of revisions."""
