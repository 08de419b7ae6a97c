"""Shared by several commands; contains no command."""
