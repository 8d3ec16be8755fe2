//! The same input for all samples: nothing can be learned from it.

use super::super::words::figure;
use super::super::{Evidence, Finding, FindingKind};

/// The largest difference between samples, as a fraction of the mean.
const SPREAD: f64 = 1e-6;

pub(super) fn find(evidence: &Evidence) -> Vec<Finding> {
    let Some(last) = evidence.last_probe() else {
        return vec![];
    };
    // The input with the most elements is that of the network; targets and masks are smaller.
    let Some(largest) = last.inputs.iter().map(|input| input.elements).max() else {
        return vec![];
    };
    let constant = evidence.probes.iter().all(|probe| {
        let mut own = probe
            .inputs
            .iter()
            .filter(|input| input.elements == largest);
        own.all(|input| input.spread <= SPREAD * input.mean.abs())
    });
    let input = last.inputs.iter().find(|input| input.elements == largest);
    let Some(input) = input.filter(|_| constant) else {
        return vec![];
    };
    let sentence = format!(
        "The input `{}` is the same for all samples of the batches measured up to epoch {} (mean {}).",
        input.name,
        last.epoch,
        figure(input.mean)
    );
    let advice = "Look at the data set and its normalization: the files may be empty, or the samples divided by a wrong \
                  scale.";
    vec![Finding::new(
        FindingKind::ConstantInput,
        last.epoch,
        sentence,
        advice,
    )]
}
