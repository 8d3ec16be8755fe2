//! Networks, data and short runs for the diagnosis.

use spikelet_data::{Split, synthetic};
use spikelet_train::FitReport;
use spikelet_train::prelude::*;
use std::fmt::Write;

/// Digits: 512 for training, 256 for testing.
pub fn digits(seed: u64) -> Split {
    synthetic::digits_of(seed, 512, 256)
}

/// Settings of a run of 256 steps.
pub fn settings() -> Settings {
    Settings {
        time_steps: 4,
        batch_size: 16,
        epochs: 8,
        optimizer: Adam::new(1e-3).into(),
        encoder: Direct.into(),
        loss: loss::MseOneHot.into(),
        validation: 0.0,
        ..Settings::default()
    }
}

/// A run on the CPU.
pub fn train(net: impl Module + 'static, settings: Settings, data: &Split) -> FitReport {
    let report = Trainer::new(net, settings).fit(data);
    report.expect("the run ends")
}

/// The evidence as a table, for messages.
pub fn table(report: &FitReport) -> String {
    let mut text = String::new();
    for record in &report.history {
        let _ = writeln!(
            text,
            "epoch {}: train {} · test {:?}",
            record.epoch,
            record.train,
            record.test.as_ref().map(|t| t.to_string())
        );
    }
    let first = report.evidence.probes.first();
    for probe in &report.evidence.probes {
        let _ = writeln!(
            text,
            "step {} loss {:.4} {:?}",
            probe.step, probe.loss, probe.inputs
        );
        for l in &probe.layers {
            let _ = writeln!(
                text,
                "  {:12} rate {:.4} dead {:.3} saturated {:.3} of {} graded {}",
                l.name, l.rate, l.dead, l.saturated, l.neurons, l.graded
            );
        }
        for p in &probe.parameters {
            let before = first.and_then(|f| f.parameters.iter().find(|b| b.name == p.name));
            let _ = writeln!(
                text,
                "  {:12} |g| {:.2e} |w| {:.2e} gain {:.2} growth {:.2} elasticity {:.2e}",
                p.name,
                p.gradient,
                p.norm,
                p.norm / (p.shape[0] as f64).sqrt(),
                p.norm / before.map_or(f64::NAN, |b| b.norm),
                p.gradient * p.norm / first.map_or(1.0, |f| f.loss),
            );
        }
    }
    for finding in &report.findings {
        let _ = writeln!(text, "=> {:?} {:?}: {finding}", finding.kind, finding.layer);
    }
    text
}
