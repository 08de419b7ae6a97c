"""Lucene through Pyserini's jar. The only folder that knows that a JVM exists."""
