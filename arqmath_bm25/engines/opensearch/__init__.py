"""The engine opensearch: indexes in a cluster of OpenSearch 3 or later, ranked as by Lucene."""
