"""Data sets: readers, built-in sets, downloads, checks of features and labels, encoding, imputing and scaling.

It may import `errors` and `runtime`. `load` turns a path or a name into a `Dataset`, `available` lists the names that
`load` knows, and `fetch` downloads further sets.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
