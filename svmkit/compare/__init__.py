"""Comparisons of solvers on data sets: the spec (`load_spec`), its cells in processes (`run`) and the `Results`.

The modules, in the order of the work: `fields` and `entries` (checks), `spec`, `sets` (data), `worker`, `lane` and
`runner` (cells), `store` (records on disk), `results`; `report/` makes the page and the pictures.
It may import all rooms from `errors` to `training`, `tracking`, and `plotting`.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
