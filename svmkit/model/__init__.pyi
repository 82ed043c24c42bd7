from .model import SVMModel

__all__ = ["SVMModel"]
