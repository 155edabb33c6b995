r"""What a simulation leaves unexplained, as a Gaussian process over the shape.

The logarithm of a measured time is

.. math:: y = f(\theta) + u(x) + w(x) + \epsilon

with u what a layer's times are off, w smooth over all features, theta as assumed with its spread,
and noise. Linear in theta about its most probable value, all of it is one Gaussian process with the
kernel

.. math:: k(x, x') = J S J'^T + q q' (a^2 m(|x - x'|_L) + c^2 [x = x']_L) + b^2 m(|x - x'|)

of slopes J, spreads S and the Matérn kernel m of order 5/2 with a length for each feature. A layer
is off in part smoothly over what it depends on (a), in part by itself for each size (c): libraries
choose a kernel by size. Of that a step has q, the share of its time that is in layers: times are
homogeneous in all costs, so q is 1 less the slopes of the costs besides layers. Lengths, a, c, b
and the noise are those of the greatest marginal likelihood times a wide prior. Steps that cross
nodes have a noise of their own beside it: other jobs share their network.

References
----------
.. [1] C. Rasmussen and C. Williams, Gaussian Processes for Machine Learning, 2006, sections 2.7
       (explicit basis functions), 4.2 and 5.4 (equation 5.9: the gradient).
.. [2] M. Kennedy and A. O'Hagan, Bayesian Calibration of Computer Models, 2001.
.. [3] K. Lange, R. Little and J. Taylor, Robust Statistical Modeling Using the t Distribution,
       1989 (the variances' expectation).
"""

from dataclasses import dataclass
from math import log

import numpy as np
from scipy.linalg import cho_solve
from scipy.optimize import minimize

from solver.shapes.efficiency import FIGURES
from solver.shapes.fit.physics import DEVIATION
from solver.shapes.fit.rows import FEATURES, LAYER_FEATURES
from solver.units import FloatArray

#: Prior of the lengths' logarithms, and its standard deviation: of a layer's features; of tensor
#: parallelism, where each degree has hosts and collectives of its own; and of the others, whose
#: effect is simulated rather than learned.
_LAYER_LENGTH, _TENSOR_LENGTH, _OTHER_LENGTH, _LENGTH_SPREAD = 0.7, -0.7, 2.0, 0.4

#: Prior of the logarithms of a, c, b, the noise, and that of steps that cross nodes besides; and
#: its standard deviation.
_SCALES, _SCALE_SPREAD = (log(0.15), log(0.05), log(0.03), log(0.005), log(0.03)), 0.7

_BOUNDS = ((-1.5, 4.0), (-6.0, 0.0), (-6.0, 0.0), (-6.0, 0.0), (-7.5, -2.0), (-6.0, -1.5))

#: Degrees of freedom of Student's t: of one, as of steps measured across nodes some are half as
#: slow again as their neighbours, and say nothing of others.
TAIL = 1.0

#: Rounds of hyperparameters and variances, and of the latter within one.
_ROUNDS, _STEPS = 5, 10

_LAYER, _TENSOR = len(LAYER_FEATURES), LAYER_FEATURES.index("tp")

#: Costs of a step besides those of its layers.
_BESIDES = [
    FIGURES.index(name)
    for name in (
        "head",
        "batch_us",
        "send_us",
        "message_us",
        "reductions",
        "reduction_us",
        "optimizer",
        "optimizer_layer_us",
        "step_us",
    )
]


@dataclass(frozen=True, slots=True)
class Residual:
    """A Gaussian process that knows its rows.

    Attributes
    ----------
    features
        Of each row, its features.
    slopes
        Of each row, how its simulated time changes with the figures.
    hyper
        Logarithms of the lengths, a, c, b, the noise and that of steps that cross nodes.
    weights
        The rows' weights in every mean.
    factor
        Cholesky factor of the rows' kernel.
    noise, usual
        Variance of each row's noise, as learned, and of another step like it.
    """

    features: FloatArray
    slopes: FloatArray
    hyper: FloatArray
    weights: FloatArray
    factor: FloatArray
    noise: FloatArray
    usual: FloatArray

    def mean_and_deviation(
        self, features: FloatArray, slopes: FloatArray, crosses: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return what is added to simulated logarithms of times, and its standard deviation.

        ``crosses`` is 1 for steps that cross nodes, else 0.
        """
        across = kernel(features, self.features, slopes, self.slopes, self.hyper)
        mean = across @ self.weights
        own = np.array(
            [
                kernel(x[None], x[None], s[None], s[None], self.hyper)[0, 0]
                for x, s in zip(features, slopes, strict=True)
            ]
        )
        known = np.einsum("ij,ji->i", across, cho_solve((self.factor, True), across.T))
        noise = noises(self.hyper, crosses)
        return mean, np.sqrt(np.maximum(own - known, 0.0) + noise)

    def left_out(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return each row's error when the others predict it, and the deviation they give it.

        The hyperparameters are those of all rows (Rasmussen and Williams, equation 5.12); the
        deviation is with the usual noise, not with that of a row that is known to be slow.
        """
        inverse = cho_solve((self.factor, True), np.eye(len(values)))
        variance = 1 / np.diag(inverse)
        usual = np.maximum(variance - self.noise, 0.0) + self.usual
        return np.asarray((inverse @ values) * variance), np.sqrt(usual)

    def posterior(self) -> FloatArray:
        """Return the standard deviation of the figures' logarithms once the rows are known."""
        spread = self.slopes * DEVIATION**2
        told = np.einsum("ki,ik->k", spread.T, cho_solve((self.factor, True), spread))
        return np.asarray(np.sqrt(np.maximum(DEVIATION**2 - told, 0.0)))


def learned(
    features: FloatArray, slopes: FloatArray, values: FloatArray, crosses: FloatArray
) -> Residual:
    """Return the process that explains values: y - f + J (theta - mean).

    Notes
    -----
    O(n^3) for each step of the search for hyperparameters, which begins at the prior's means.
    """
    tails = crosses
    for _ in range(_ROUNDS if crosses.any() else 1):
        hyper = _hyperparameters(features, slopes, values, tails)
        rows = kernel(features, features, slopes, slopes, hyper)
        tails = _tails(rows, values, hyper, crosses, tails)
    noise = noises(hyper, tails)
    factor = np.asarray(np.linalg.cholesky(rows + np.diag(noise)), float)
    weights = cho_solve((factor, True), values)
    return Residual(features, slopes, hyper, weights, factor, noise, noises(hyper, crosses))


def _tails(
    rows: FloatArray,
    values: FloatArray,
    hyper: FloatArray,
    crosses: FloatArray,
    tails: FloatArray,
) -> FloatArray:
    """Return the variance of each row's noise between nodes over the usual one, by expectation."""
    if not crosses.any():
        return tails
    usual, (one, between) = noises(hyper, crosses), np.exp(2 * hyper[-2:])
    for _ in range(_STEPS):
        noise = noises(hyper, tails)
        inverse = np.linalg.inv(rows + np.diag(noise))
        squares = (noise * (inverse @ values)) ** 2 + noise - noise**2 * np.diag(inverse)
        learned_noise = usual * (TAIL + squares / usual) / (TAIL + 1)
        tails = np.asarray(crosses * np.maximum(learned_noise - one, 0.0) / between)
    return tails


def noises(hyper: FloatArray, crosses: FloatArray) -> FloatArray:
    """Return the variance of each step's noise."""
    one, between = np.exp(2 * hyper[-2:])
    return np.asarray(one + between * crosses)


def kernel(
    x: FloatArray, y: FloatArray, x_slopes: FloatArray, y_slopes: FloatArray, hyper: FloatArray
) -> FloatArray:
    """Return the kernel between rows x and rows y, without noise."""
    weights, (smooth, own, others) = np.exp(-2 * hyper[:-5]), np.exp(2 * hyper[-5:-2])
    apart = (x[:, None] - y[None]) ** 2
    of_layer = apart[..., :_LAYER]
    near = of_layer @ weights[:_LAYER]
    shared = near - apart[..., _TENSOR] * weights[_TENSOR]
    off = smooth * (_matern(near) + _matern(shared)) / 2 + own * ~of_layer.any(-1)
    figures = (x_slopes * DEVIATION**2) @ y_slopes.T
    layers = np.outer(layer_shares(x_slopes), layer_shares(y_slopes))
    return np.asarray(figures + layers * off + others * _matern(apart @ weights))


def layer_shares(slopes: FloatArray) -> FloatArray:
    """Return what share of each step's time is in its layers, from its slopes."""
    return np.asarray(1 - slopes[:, _BESIDES].sum(1))


def _matern(squares: FloatArray) -> FloatArray:
    far = np.sqrt(5 * np.maximum(squares, 1e-20))
    return np.asarray((1 + far + far * far / 3) * np.exp(-far))


def _matern_slope(squares: FloatArray) -> FloatArray:
    """Return how :func:`_matern` changes with the squares."""
    far = np.sqrt(5 * np.maximum(squares, 1e-20))
    return np.asarray(-5 / 6 * (1 + far) * np.exp(-far))


class _Likelihood:
    """How unlikely hyperparameters are, with the gradient."""

    def __init__(
        self, features: FloatArray, slopes: FloatArray, values: FloatArray, crosses: FloatArray
    ) -> None:
        self._values, self._crosses = values, crosses
        self._apart = (features[:, None] - features[None]) ** 2
        self._alike = ~self._apart[..., :_LAYER].any(-1)
        self._figures = (slopes * DEVIATION**2) @ slopes.T
        self._layers = np.outer(layer_shares(slopes), layer_shares(slopes))

    def at(self, hyper: FloatArray) -> tuple[float, FloatArray]:
        """Return the negative logarithm of the marginal likelihood, and its gradient."""
        weights = np.exp(-2 * hyper[:-5])
        smooth, own, others, noise, between = np.exp(2 * hyper[-5:])
        near = self._apart[..., :_LAYER] @ weights[:_LAYER]
        shared = near - self._apart[..., _TENSOR] * weights[_TENSOR]
        every = near + self._apart[..., _LAYER:] @ weights[_LAYER:]
        parts = [
            smooth * self._layers * (_matern(near) + _matern(shared)) / 2,
            own * self._layers * self._alike,
            others * _matern(every),
            noise * np.eye(len(self._values)),
            between * np.diag(self._crosses),
        ]
        try:
            factor = np.linalg.cholesky(self._figures + sum(parts))
        except np.linalg.LinAlgError:
            return 1e6, np.zeros(len(hyper))
        inverse = cho_solve((factor, True), np.eye(len(self._values)))
        half = inverse @ self._values
        pull = inverse - np.outer(half, half)
        of_every = pull * others * _matern_slope(every)
        half_smooth = pull * smooth * self._layers / 2
        of_near = of_every + half_smooth * _matern_slope(near)
        of_shared = half_smooth * _matern_slope(shared)
        of_layer = np.einsum("ij,ijk->k", of_near + of_shared, self._apart[..., :_LAYER])
        of_layer[_TENSOR] -= np.einsum("ij,ij->", of_shared, self._apart[..., _TENSOR])
        of_others = np.einsum("ij,ijk->k", of_every, self._apart[..., _LAYER:])
        lengths = -weights * np.concatenate([of_layer, of_others])
        scales = np.array([np.einsum("ij,ij->", pull, part) for part in parts])
        value = 0.5 * float(self._values @ half) + float(np.log(np.diag(factor)).sum())
        return value, np.concatenate([lengths, scales])


def _hyperparameters(
    features: FloatArray, slopes: FloatArray, values: FloatArray, crosses: FloatArray
) -> FloatArray:
    """Return the hyperparameters of the greatest posterior."""
    means = np.array([_LAYER_LENGTH] * _LAYER + [_OTHER_LENGTH] * (len(FEATURES) - _LAYER))
    means[LAYER_FEATURES.index("tp")] = _TENSOR_LENGTH
    means = np.concatenate([means, _SCALES])
    spreads = np.array([_LENGTH_SPREAD] * len(FEATURES) + [_SCALE_SPREAD] * len(_SCALES))
    free = np.concatenate([np.ptp(features, axis=0) > 0, np.ones(len(_SCALES), bool)])
    free[-1] = crosses.any()
    likelihood = _Likelihood(features, slopes, values, crosses)

    def unlikelihood(point: FloatArray) -> tuple[float, FloatArray]:
        hyper = means.copy()
        hyper[free] = point
        value, gradient = likelihood.at(hyper)
        off = (hyper - means) / spreads
        return value + 0.5 * float(off @ off), (gradient + off / spreads)[free]

    bounds = [_BOUNDS[0]] * len(FEATURES) + list(_BOUNDS[1:])
    found = minimize(
        unlikelihood,
        means[free],
        jac=True,
        method="L-BFGS-B",
        bounds=[bound for bound, is_free in zip(bounds, free, strict=True) if is_free],
        options={"maxiter": 60},
    )
    hyper = means.copy()
    hyper[free] = found.x
    return hyper
