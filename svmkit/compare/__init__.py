"""Comparisons of solvers on data sets: the spec (`load_spec`), its cells in processes (`run`) and the `Results`.

In the order of the work: `plan/` (the checked spec), `cells/` (workers and their records), the `results`, then
`report/` (the page and the pictures) and `learning`.
It may import all rooms from `errors` to `training`, `tracking`, and `plotting`.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
