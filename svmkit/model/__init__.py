"""Trained models as plain arrays: decisions and votes, the file format, export to ONNX.

It may import `errors`, `plugins`, `runtime`, `data` and `kernels`.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
