"""Search for C, kernel parameters and solver options by cross-validation: `search` is the function, `Span` a range.

The modules, in the order of the work: `grids` (texts), `space` (candidates), `estimator` (the fits of a fold),
`backends`, `records` (finished folds, progress), `splits` (folds), `crossval` (the search), `result`, `picture`.
It may import all rooms from `errors` to `training`, and `cluster`.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
