//! The weights of whole lags for a delay between them.

use spikelet_graph::Var;

/// A triangle of half-width 1 around the delay: max(0, 1 − |distance|). The step beside a whole delay has a weight of 0
/// and a derivative.
pub(super) fn triangle(lag: &Var, delay: &Var) -> Var {
    (1.0 - (lag - delay).abs()).maximum(0.0)
}

/// exp(−½(distance / width)²)
pub(super) fn gaussian(lag: &Var, delay: &Var, width: &Var) -> Var {
    Var::map(&[lag, delay, width], |v| {
        let z = (&v[0] - &v[1]) / &v[2];
        (-0.5 * (&z * &z)).exp()
    })
}
