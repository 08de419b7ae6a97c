"""Typed records from the labs' files, streamed: posts, topics, and where every file lies."""
