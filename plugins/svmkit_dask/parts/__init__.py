"""Parts of the data: how a worker makes one, in memory or on local disk, and the driver's summary of all."""
