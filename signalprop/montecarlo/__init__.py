"""Monte Carlo runs: draws in, estimates with an honest error out."""
