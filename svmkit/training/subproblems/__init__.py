"""The training of the problems that data are divided into: one after the other, side by side, or many in one call."""
