"""One call that chooses C, gamma and epsilon by cross-validation, then trains and certifies the model of all rows.

The modules, in the order of the work: `ranges` (candidates from the data), `zoom` (the rounds), `stages` (the
rows that they are tried on), `one_call`.
It may import all rooms from `errors` to `training`, `cluster` and `tune`.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
