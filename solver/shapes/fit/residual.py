r"""What a simulation leaves unexplained, as a Gaussian process over the shape.

The logarithm of a measured time is

.. math:: y = f(\theta) + u(x) + w(x) + \epsilon

with u smooth over what a layer's times depend on, w smooth over all features, theta as assumed with
its spread, and noise. Linear in theta about its most probable value, all of it is one Gaussian
process with the kernel

.. math:: k(x, x') = J S J'^T + a^2 m(|x - x'|_L) + b^2 m(|x - x'|)

of slopes J, spreads S and the Matérn kernel m of order 5/2 with a length for each feature. Lengths,
a, b and the noise are those of the greatest marginal likelihood times a wide prior.

References
----------
.. [1] C. Rasmussen and C. Williams, Gaussian Processes for Machine Learning, 2006, sections 2.7
       (explicit basis functions), 4.2 and 5.4. .. [2] M. Kennedy and A. O'Hagan, Bayesian
       Calibration of Computer Models, 2001.
"""

from dataclasses import dataclass
from math import log

import numpy as np
from scipy.linalg import cho_solve
from scipy.optimize import minimize

from solver.shapes.fit.physics import DEVIATION
from solver.shapes.fit.rows import FEATURES, LAYER_FEATURES
from solver.units import FloatArray

#: Prior of the lengths' logarithms, and its standard deviation: of a layer's features; of tensor
#: parallelism, where each degree has hosts and collectives of its own; and of the others, whose
#: effect is simulated rather than learned.
_LAYER_LENGTH, _TENSOR_LENGTH, _OTHER_LENGTH, _LENGTH_SPREAD = 0.7, -0.7, 2.0, 0.4

#: Prior of the logarithms of a, b and the noise, and its standard deviation.
_SCALES, _SCALE_SPREAD = (log(0.15), log(0.03), log(0.005)), 0.7

_BOUNDS = ((-1.5, 4.0), (-6.0, 0.0), (-6.5, -2.0))


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
        Logarithms of the lengths, a, b and the noise.
    weights
        The rows' weights in every mean.
    factor
        Cholesky factor of the rows' kernel.
    """

    features: FloatArray
    slopes: FloatArray
    hyper: FloatArray
    weights: FloatArray
    factor: FloatArray

    def mean_and_deviation(
        self, features: FloatArray, slopes: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return what is added to simulated logarithms of times, and its standard deviation."""
        across = kernel(features, self.features, slopes, self.slopes, self.hyper)
        mean = across @ self.weights
        own = np.array(
            [
                kernel(x[None], x[None], s[None], s[None], self.hyper)[0, 0]
                for x, s in zip(features, slopes, strict=True)
            ]
        )
        known = np.einsum("ij,ji->i", across, cho_solve((self.factor, True), across.T))
        noise = np.exp(2 * self.hyper[-1])
        return mean, np.sqrt(np.maximum(own - known, 0.0) + noise)

    def left_out(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return each row's error when the others predict it, and the deviation they give it.

        The hyperparameters are those of all rows (Rasmussen and Williams, equation 5.12).
        """
        inverse = cho_solve((self.factor, True), np.eye(len(values)))
        variance = 1 / np.diag(inverse)
        return np.asarray((inverse @ values) * variance), np.sqrt(variance)

    def posterior(self) -> FloatArray:
        """Return the standard deviation of the figures' logarithms once the rows are known."""
        spread = self.slopes * DEVIATION**2
        told = np.einsum("ki,ik->k", spread.T, cho_solve((self.factor, True), spread))
        return np.asarray(np.sqrt(np.maximum(DEVIATION**2 - told, 0.0)))


def learned(features: FloatArray, slopes: FloatArray, values: FloatArray) -> Residual:
    """Return the process that explains values: y - f + J (theta - mean).

    Notes
    -----
    O(n^3) for each step of the search for hyperparameters, which begins at the prior's means.
    """
    hyper = _hyperparameters(features, slopes, values)
    factor = np.asarray(np.linalg.cholesky(_rows_kernel(features, slopes, hyper)), float)
    weights = cho_solve((factor, True), values)
    return Residual(features, slopes, hyper, weights, factor)


def kernel(
    x: FloatArray, y: FloatArray, x_slopes: FloatArray, y_slopes: FloatArray, hyper: FloatArray
) -> FloatArray:
    """Return the kernel between rows x and rows y."""
    lengths, (layers, others, _) = hyper[:-3], np.exp(2 * hyper[-3:])
    apart = ((x[:, None] - y[None]) / np.exp(lengths)) ** 2
    near = _matern(apart[..., : len(LAYER_FEATURES)].sum(-1))
    figures = (x_slopes * DEVIATION**2) @ y_slopes.T
    return np.asarray(figures + layers * near + others * _matern(apart.sum(-1)))


def _matern(squares: FloatArray) -> FloatArray:
    far = np.sqrt(5 * np.maximum(squares, 1e-20))
    return np.asarray((1 + far + far * far / 3) * np.exp(-far))


def _rows_kernel(features: FloatArray, slopes: FloatArray, hyper: FloatArray) -> FloatArray:
    noise = np.exp(2 * hyper[-1]) * np.eye(len(features))
    return np.asarray(kernel(features, features, slopes, slopes, hyper) + noise)


def _hyperparameters(features: FloatArray, slopes: FloatArray, values: FloatArray) -> FloatArray:
    """Return the hyperparameters of the greatest posterior."""
    layer = len(LAYER_FEATURES)
    means = np.array([_LAYER_LENGTH] * layer + [_OTHER_LENGTH] * (len(FEATURES) - layer))
    means[LAYER_FEATURES.index("tp")] = _TENSOR_LENGTH
    means = np.concatenate([means, _SCALES])
    spreads = np.array([_LENGTH_SPREAD] * len(FEATURES) + [_SCALE_SPREAD] * len(_SCALES))
    varies = np.ptp(features, axis=0) > 0
    free = np.concatenate([varies, np.ones(len(_SCALES), bool)])

    def unlikelihood(point: FloatArray) -> float:
        hyper = means.copy()
        hyper[free] = point
        try:
            factor = np.linalg.cholesky(_rows_kernel(features, slopes, hyper))
        except np.linalg.LinAlgError:
            return 1e6
        half = cho_solve((factor, True), values)
        prior = 0.5 * float((((hyper - means) / spreads) ** 2).sum())
        return 0.5 * float(values @ half) + float(np.log(np.diag(factor)).sum()) + prior

    bounds = [_BOUNDS[0]] * int(varies.sum()) + [_BOUNDS[1]] * 2 + [_BOUNDS[2]]
    found = minimize(
        unlikelihood, means[free], method="L-BFGS-B", bounds=bounds, options={"maxiter": 60}
    )
    hyper = means.copy()
    hyper[free] = found.x
    return hyper
