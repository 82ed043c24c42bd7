"""Files of any size and number as one data set: decoded piece by piece, in memory or on local disk."""
