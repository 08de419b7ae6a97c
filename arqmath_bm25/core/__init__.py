"""What every room stands on: errors, settings, files, manifests, workers, the labs' rules."""
