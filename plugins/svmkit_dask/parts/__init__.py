"""Parts of the data: how a worker makes one, in memory or on local disk, and what the driver learns of all."""
