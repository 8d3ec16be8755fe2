//! A weight whose gradient is exactly 0 in every measurement, while others have one.

use super::super::words::named;
use super::super::{Evidence, Finding, FindingKind};

pub(super) fn find(evidence: &Evidence) -> Vec<Finding> {
    // Before the first update, branches may have a factor of 0; neurons of a new network may be silent.
    let later = || evidence.probes.iter().filter(|probe| probe.step > 0);
    let Some(last) = evidence.late_probe() else {
        return vec![];
    };
    let learns = |name: &str| {
        later().any(|probe| {
            let mut own = probe.parameters.iter();
            own.any(|parameter| parameter.name == name && parameter.gradient != 0.0)
        })
    };
    let names = last
        .parameters
        .iter()
        .map(|parameter| parameter.name.as_str());
    let (with, without): (Vec<&str>, Vec<&str>) = names.partition(|name| learns(name));
    let (Some(first), false) = (without.first(), with.is_empty()) else {
        return vec![];
    };
    let others = match without.len() - 1 {
        0 => String::new(),
        1 => ", nor that of another weight".to_string(),
        more => format!(", nor those of {more} other weights"),
    };
    let sentence = format!(
        "The gradient of {} is 0 in all measurements up to epoch {}{others}: it is not trained.",
        named(first),
        last.epoch,
    );
    let advice = "Check that its output is used and not detached, that the surrogate is not 0 at the potentials of the \
                  neurons behind it, or freeze it.";
    let layer = first.rsplit_once('.').map_or("", |(layer, _)| layer);
    vec![Finding::new(FindingKind::NoGradient, last.epoch, sentence, advice).in_layer(layer)]
}
