//! Figures and names in sentences.

use super::Probe;

/// A layer or parameter in backquotes; the network itself can be a layer.
pub(super) fn named(layer: &str) -> String {
    match layer {
        "" => "the network".to_string(),
        layer => format!("`{layer}`"),
    }
}

/// The time of a probe.
pub(super) fn when(probe: &Probe) -> String {
    match probe.step {
        0 => "before the first update".to_string(),
        _ => format!("at the end of epoch {}", probe.epoch),
    }
}

/// A fraction of 1 as `98.5 %`.
pub(super) fn percent(share: f64) -> String {
    spikelet_core::human::percent(share)
        .trim_start()
        .to_string()
}

/// A figure with three digits: `0.412`, `12.3`, `1.2e-7`, `3.1e6`.
pub(super) fn figure(value: f64) -> String {
    let size = value.abs();
    match size {
        0.0 => "0".to_string(),
        _ if !(1e-3..1e5).contains(&size) => format!("{value:.1e}"),
        _ if size < 10.0 => format!("{value:.3}"),
        _ if size < 100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_as_many_digits_as_they_need() {
        let shown = [
            0.0,
            1.23e-7,
            0.0123,
            2.345_67,
            45.678,
            1234.5,
            3.14e6,
            f64::NAN,
        ]
        .map(figure);
        assert_eq!(
            shown,
            [
                "0", "1.2e-7", "0.012", "2.346", "45.7", "1234", "3.1e6", "NaN"
            ]
        );
    }
}
