"""Lucene through Pyserini's jar. No other folder knows of the JVM."""
