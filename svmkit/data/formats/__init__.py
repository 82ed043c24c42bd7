"""Decoding of files: svmlight, NumPy archives, the text of CSV files, and the storage of what was read."""
