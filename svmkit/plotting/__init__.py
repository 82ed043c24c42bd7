"""Plots of histories, of decisions over two features, of explanations, and of the reliability of probabilities.

It may import `errors`, `runtime`, `data`, `solver`, `explain` and `model`.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
