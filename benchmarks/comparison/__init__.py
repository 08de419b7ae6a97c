"""What benchmarks/bench.py measures, a module for each part, and how results are kept and shown."""
