"""Where data sets lie by name: built in, in the working directory, in the download cache, on the web."""
