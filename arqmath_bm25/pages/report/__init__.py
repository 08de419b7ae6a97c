"""Pages that show what runs did: for a browser, from disk or from `serve`."""
