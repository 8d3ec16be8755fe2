//! Networks of SpikingJelly.

use super::{Reference, Sizes};
use spikelet::neuron::Klif;
use spikelet::prelude::*;
use spikelet::weights::Framework;

fn reference(module: Sequential, layers: &[&'static str]) -> Reference {
    Reference {
        framework: Framework::SpikingJelly,
        module,
        layers: layers.iter().map(|&name| (name, name)).collect(),
        potentials: vec![],
    }
}

/// A chain of layers, counted from 0.
pub(super) fn csnn(sizes: &Sizes<'_>) -> Result<Reference> {
    let last = Lif {
        decay_input: false,
        ..Lif::new(1.5)
    };
    let module = Sequential::new()
        .add(sizes.conv("0")?.padding(1))
        .add(sizes.batch_norm("1")?)
        .add(If::new())
        .add(MaxPool2d::new(2))
        .add(sizes.conv("4")?.padding(1))
        .add(sizes.batch_norm("5")?)
        .add(Lif::new(2.0))
        .add(AvgPool2d::new(2))
        .add(Flatten)
        .add(sizes.linear("9")?)
        .add(Plif::new(2.0))
        .add(sizes.linear("11")?)
        .add(last.v_threshold(0.8).v_reset(None));
    Ok(reference(module, &["2", "6", "10", "12"]))
}

/// Modules with names in modules with names.
pub(super) fn class(sizes: &Sizes<'_>) -> Result<Reference> {
    let first = Sequential::new()
        .add(sizes.conv("static.0")?.padding(1))
        .add(sizes.batch_norm("static.1")?);
    let block = Sequential::new()
        .add_named("sn", Plif::new(2.0))
        .add_named("conv", sizes.conv("block.conv")?.stride(2));
    let head = Sequential::new()
        .add(Flatten)
        .add(sizes.linear("head.1")?)
        .add(Klif::default());
    let module = Sequential::new()
        .add_named("static", first)
        .add_named("block", block)
        .add_named("sn1", If::new().v_threshold(0.7).v_reset(-0.2))
        .add_named("head", head);
    Ok(reference(module, &["block.sn", "sn1", "head.2"]))
}
