from . import files, interrupt, jsonable, threads

__all__ = ["files", "interrupt", "jsonable", "threads"]
