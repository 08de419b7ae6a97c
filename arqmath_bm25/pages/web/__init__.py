"""A search page and a JSON interface over the indexes, as an ASGI application."""
