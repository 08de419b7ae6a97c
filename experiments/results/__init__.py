"""The tables of the documentation, made again and compared."""
