//! The first time at which a potential reaches the threshold.
//!
//! Between two events V' = (I − V)/τ_m and V has one maximum at most. Where V rises from V < ϑ with I > 0 it is
//! concave: V'' = −(I/τ_s + V')/τ_m < 0. So:
//!
//! 1. A current I ≤ ϑ never brings V to ϑ, since V does not grow beyond I.
//! 2. V reaches ϑ in a span exactly if it is ≥ ϑ at the earlier of the maximum and the span's end; up to there
//!    it rises, so that the interval has one root, the first crossing.
//! 3. Newton's method from the left of the root of a rising concave function approaches it from the left. Steps
//!    that rounding takes out of the bracket are replaced by bisection.

use crate::membrane::TimeConstants;

/// Iterations of the root finding. Bisection alone halves a bracket of f64 to neighbors in fewer than 1,100; a
/// root at the top of V, where Newton's method halves the distance, needs about 30.
const MOST_ITERATIONS: usize = 1_100;

/// The first t in (0, limit] at which the potential rises to `threshold`; `None` if it stays below.
///
/// A potential that is at the threshold already and rises, which rounding can make of two neurons that reach it
/// at the same time, crosses at 0.
pub(crate) fn first_crossing(
    tau: &TimeConstants,
    threshold: f64,
    v: f64,
    i: f64,
    limit: f64,
) -> Option<f64> {
    if v >= threshold {
        return (i > v).then_some(0.0);
    }
    if i <= threshold {
        return None;
    }
    let (mut low, mut high) = (0.0, tau.peak(v, i).min(limit));
    if tau.over(high).potential(v, i) < threshold {
        return None;
    }
    let mut t = low;
    for _ in 0..MOST_ITERATIONS {
        let decay = tau.over(t);
        let missing = threshold - decay.potential(v, i);
        if missing == 0.0 {
            return Some(t);
        }
        match missing > 0.0 {
            true => low = t,
            false => high = t,
        }
        let step = missing * tau.tau_m / (i * decay.g - decay.potential(v, i));
        let newton = t + step;
        // A step of rounding's size: the root is between two neighboring numbers.
        if step.abs() <= f64::EPSILON * t {
            return Some(newton.clamp(low, high));
        }
        t = match newton > low && newton < high {
            true => newton,
            false => 0.5 * (low + high),
        };
        if t <= low || t >= high {
            break;
        }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_potential_that_only_touches_the_threshold_is_found_and_one_below_is_not() {
        let tau = TimeConstants {
            tau_m: 20.0,
            tau_s: 5.0,
        };
        let top = tau.psp(tau.peak(0.0, 1.0));
        let touching =
            first_crossing(&tau, 1.0, 0.0, (1.0 + 1e-12) / top, 100.0).expect("it touches");
        assert!((touching - tau.peak(0.0, 1.0)).abs() < 1e-4);
        assert_eq!(
            first_crossing(&tau, 1.0, 0.0, (1.0 - 1e-12) / top, 100.0),
            None
        );
    }

    #[test]
    fn a_crossing_behind_the_limit_is_not_one() {
        let tau = TimeConstants {
            tau_m: 20.0,
            tau_s: 5.0,
        };
        let t = first_crossing(&tau, 1.0, 0.0, 8.0, 100.0).expect("it fires");
        assert_eq!(first_crossing(&tau, 1.0, 0.0, 8.0, t * 0.999), None);
    }

    proptest! {
        #[test]
        fn the_first_crossing_is_never_missed(
            tau_m in 1.0..50.0_f64, tau_s in 1.0..50.0_f64, v in -3.0..0.999_f64, i in -5.0..20.0_f64,
            limit in 0.01..100.0_f64,
        ) {
            let tau = TimeConstants { tau_m, tau_s };
            let potential = |t: f64| tau.over(t).potential(v, i);
            let sampled = (1..=4_000).map(|k| limit * k as f64 / 4_000.0).find(|&t| potential(t) >= 1.0);
            let found = first_crossing(&tau, 1.0, v, i, limit);
            if let Some(after) = sampled {
                prop_assert!(found.is_some_and(|t| t <= after));
            }
            if let Some(t) = found {
                prop_assert!((potential(t) - 1.0).abs() < 1e-13);
                prop_assert!((0..400).all(|k| potential(t * k as f64 / 400.0) <= 1.0 + 1e-13));
            }
        }
    }
}
