"""Topics → weighted queries → rankings, a module for each task."""
