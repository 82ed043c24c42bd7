"""Kernel values by PyTorch, on a GPU or on the CPU. torch is imported when an engine of this package is requested.

It may import `svmkit`'s rooms up to `solver`, and no other plugin package. Engines are found through entry points.
"""
