"""What a run is: read, checked, repaired, fused and described."""
