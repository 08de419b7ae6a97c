"""The base of all rooms: errors, settings, files, manifests, workers, the labs' rules."""
