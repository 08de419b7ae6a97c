"""Typed records from the labs' files, streamed: posts, topics, and the places of all files."""
