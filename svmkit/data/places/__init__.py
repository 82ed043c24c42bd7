"""The places of data sets by name: built in, in the working directory, in the download cache, on the web."""
