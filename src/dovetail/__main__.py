"""``python -m dovetail``: the ``dovetail`` command of this interpreter."""

from .command import main

main()
