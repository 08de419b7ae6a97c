"""HTML pages: reports that open from disk, the search page, threads and judging."""
