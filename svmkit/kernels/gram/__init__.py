"""The kernel matrix: rows on demand and their cache, pairs of classes, given matrices, definiteness."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
