"""Data sets: `load` turns a path or a name into a `Dataset`, `available` lists the names, `fetch` downloads more.

`formats/` decodes files, `tables/` turns columns into features, `places/` finds sets, `prepare/` checks,
encodes, imputes and scales features and labels. It may import `errors` and `runtime`.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
