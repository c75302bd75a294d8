"""Spread of log gradient energies of a tanh layer at chi = 1, from hardly driven to driven."""
