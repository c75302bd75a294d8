import numpy as np
import pytest

from signalprop.activations import SampledActivation
from signalprop.cells import CELLS
from signalprop.ginibre.dense import Layer
from signalprop.meanfield import ACTIVATIONS, Activation, as_activation, critical_scale, leaky_relu


@pytest.mark.parametrize("name", list(ACTIVATIONS))
def test_slopes_are_differences(name):
    phi = ACTIVATIONS[name]
    x = np.array([-30.0, -5.0, -1.3, -0.2, 1e-3, 0.4, 0.99, 1.01, 7.0, 30.0])
    differences = (phi.value(x + 1e-6) - phi.value(x - 1e-6)) / 2e-6
    assert np.abs(phi.slope(x) - differences).max() < 1e-8


@pytest.mark.parametrize("name", ["linear", "tanh", "relu", "leaky_relu", "hardtanh", "silu", "gelu"])
def test_values_are_those_of_pytorch(name):
    torch = pytest.importorskip("torch")
    theirs = {"linear": lambda x: x}.get(name) or getattr(torch.nn.functional, name)
    x = np.linspace(-9.0, 9.0, 181)
    assert np.abs(ACTIVATIONS[name].value(x) - theirs(torch.tensor(x)).numpy()).max() < 1e-14


@pytest.mark.parametrize("name", list(ACTIVATIONS))
def test_those_called_homogeneous_are(name):
    phi, x = ACTIVATIONS[name], np.array([-2.0, 0.7])
    assert phi.homogeneous == np.allclose(phi.value(3.0 * x), 3.0 * phi.value(x))


def test_the_slope_of_tanh_keeps_its_digits_far_out():
    assert ACTIVATIONS["tanh"].slope(np.array([-30.0]))[0] == pytest.approx(4.0 * np.exp(-60.0), rel=1e-14)


def test_a_function_with_its_derivative():
    mine = as_activation(np.sin, np.cos)
    assert mine.value(np.array([0.5]))[0] == np.sin(0.5)
    assert as_activation(mine) is mine
    assert leaky_relu(0.5).slope(np.array([-1.0, 1.0])).tolist() == [0.5, 1.0]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: as_activation("sigmoid"), "activation must be one of 'linear', 'tanh', .* got 'sigmoid'"),
        (lambda: as_activation(np.sin), "needs derivative="),
        (lambda: as_activation(np.sin, np.sin), "derivative is not that of the activation: at -2.9 it is -0.2"),
        (lambda: as_activation(np.abs, np.sign, kinks=(np.nan,)), "kinks must be finite"),
        (lambda: as_activation("tanh", np.cos), "derivative belongs to a function"),
        (lambda: as_activation(lambda x: x[:2], np.ones_like), "value must give finite real numbers"),
        (lambda: as_activation(lambda x: 1 / 0, np.ones_like), "value must take a float64 array; .* ZeroDivisionError"),
        (lambda: as_activation(np.sin, np.cos, homogeneous=True), "homogeneous is True"),
        (lambda: as_activation("tanh", kinks=(0.0,)), "kinks and homogeneous are those of a function"),
        (lambda: Activation(1.0, np.cos), "value must be a function"),
        (lambda: leaky_relu(np.inf), "negative_slope must be a finite number, got inf"),
    ],
)
def test_what_is_no_activation_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_one_name_means_one_activation_everywhere():
    assert {name for name, cell in CELLS.items() if not cell.gated} == set(ACTIVATIONS)
    assert {one.value for one in SampledActivation} < set(ACTIVATIONS)
    x = np.array([-2.0, 0.5])
    for one in SampledActivation:
        phi, layer = as_activation(one), Layer(one, 0.01 if one is SampledActivation.LEAKY_RELU else 0.0)
        assert layer.gain == pytest.approx(float(critical_scale(phi)), rel=1e-14)
        assert (phi.value(x) == layer.apply(x)).all()
