"""The version of the package, in a module that every room may import."""

__version__ = "0.6.0"
