"""Side-by-side timings; every claim of speed is a ratio measured in one run."""
