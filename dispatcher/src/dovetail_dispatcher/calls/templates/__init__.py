"""Source text of entries, from plain Python template functions.

An *entry* is the function behind one operator overload: it checks the classes of the arguments,
makes the call's key and looks up the route. It is specialised per operator, as text that can be
read; that of the base library is generated ahead of time.
"""

from .entry import entry_source

__all__ = ["entry_source"]
