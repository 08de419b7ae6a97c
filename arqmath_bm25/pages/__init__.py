"""Pages for people: reports that open from disk, and a search page."""
