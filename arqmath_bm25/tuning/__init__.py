"""Choosing settings by cross-validation, on data that no score is reported for."""
