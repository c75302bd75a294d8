"""Laws of nonlinear and gated recurrences with random weights, at infinite width and to the next order in 1/n.

The layer is h_t = phi(W h_{t-1} + U u_t + b). Entries of W are independent with variance g^2/n (`scale` is g); s (`input_std`) is
the standard deviation that inputs and biases add to a preactivation. `gated` has GRU and LSTM.
"""

from signalprop.meanfield._gates import GatedGradient
from signalprop.meanfield.activations import ACTIVATIONS, Activation, as_activation, leaky_relu
from signalprop.meanfield.correlation import correlation_fixed_point, correlation_map, correlation_time
from signalprop.meanfield.crossover import crossover_horizon, spread_ratio
from signalprop.meanfield.fixed_points import (
    Edge,
    chi,
    critical_scale,
    edge_of_chaos,
    fixed_point,
    slope_kurtosis,
    variance_map,
)
from signalprop.meanfield.gated import gru_gradient, lstm_gradient
from signalprop.meanfield.gradients import GradientLaw, gradient_law, horizon
from signalprop.meanfield.lyapunov import ginibre_exponents
from signalprop.meanfield.memory import chrono_biases, keeping_bias
from signalprop.meanfield.quadrature import gaussian_mean, gaussian_pair_mean

__all__ = [
    "ACTIVATIONS",
    "Activation",
    "Edge",
    "GatedGradient",
    "GradientLaw",
    "as_activation",
    "chi",
    "chrono_biases",
    "correlation_fixed_point",
    "correlation_map",
    "correlation_time",
    "critical_scale",
    "crossover_horizon",
    "edge_of_chaos",
    "fixed_point",
    "gaussian_mean",
    "gaussian_pair_mean",
    "ginibre_exponents",
    "gradient_law",
    "gru_gradient",
    "horizon",
    "keeping_bias",
    "leaky_relu",
    "lstm_gradient",
    "slope_kurtosis",
    "spread_ratio",
    "variance_map",
]
