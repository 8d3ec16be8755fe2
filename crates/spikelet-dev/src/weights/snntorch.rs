//! Networks of snnTorch, whose constants are in the weights.

use super::{Reference, Sizes};
use spikelet::layer::Feedback;
use spikelet::neuron::{RLeakyCell, RSynapticCell};
use spikelet::prelude::*;
use spikelet::weights::Framework;

/// snnTorch's number of the reset to zero.
const ZERO: f64 = 1.0;

/// Makes a constant trained with as many values as the file has, so that it takes them.
fn take(common: &mut Common, sizes: &Sizes<'_>, ours: &str, theirs: &str) {
    let is_scalar = sizes.shape::<0>(theirs).is_ok();
    let granularity = if is_scalar {
        Granularity::Layer
    } else {
        Granularity::Neuron
    };
    let how = Trainable::new(granularity);
    let how = match ours {
        "alpha" | "beta" => how.clamp(0.0, 1.0),
        _ => how,
    };
    common.trainable.insert(ours.to_string(), how);
}

/// The reset of the neuron at a path.
fn reset(sizes: &Sizes<'_>, path: &str) -> Option<f64> {
    let mechanism = sizes.value(&format!("{path}.reset_mechanism_val"));
    (mechanism == Some(ZERO)).then_some(0.0)
}

/// `Leaky` or `RLeaky` that subtracts the threshold in the step after a spike.
fn leaky(sizes: &Sizes<'_>, path: &str) -> RLeakyCell {
    let mut cell = RLeakyCell::default();
    cell.common.v_reset = reset(sizes, path);
    take(&mut cell.common, sizes, "beta", &format!("{path}.beta"));
    take(
        &mut cell.common,
        sizes,
        "v_threshold",
        &format!("{path}.threshold"),
    );
    cell
}

/// `Leaky` with a reset to zero: the potential before the reset is snnTorch's.
fn leaky_to_zero(sizes: &Sizes<'_>, path: &str) -> Lif {
    let mut lif = Lif {
        decay_input: false,
        ..Lif::new(2.0)
    };
    lif.common.v_reset = reset(sizes, path);
    take(&mut lif.common, sizes, "tau", &format!("{path}.beta"));
    take(
        &mut lif.common,
        sizes,
        "v_threshold",
        &format!("{path}.threshold"),
    );
    lif
}

pub(super) fn mlp(sizes: &Sizes<'_>) -> Result<Reference> {
    let mut synaptic = RSynapticCell {
        neuron: leaky(sizes, "lif2"),
        ..RSynapticCell::default()
    };
    take(synaptic.common_mut(), sizes, "alpha", "lif2.alpha");
    let module = Sequential::new()
        .add_named("fc1", sizes.linear("fc1")?)
        .add_named("lif1", leaky(sizes, "lif1"))
        .add_named("fc2", sizes.linear("fc2")?)
        .add_named("lif2", synaptic)
        .add_named("fc3", sizes.linear("fc3")?)
        .add_named("lif3", leaky_to_zero(sizes, "lif3"));
    Ok(Reference {
        framework: Framework::SnnTorch,
        module,
        layers: vec![("lif1", "lif1"), ("lif2", "lif2"), ("lif3", "lif3")],
        potentials: vec![
            ("lif1", "lif1.v_seq"),
            ("lif2", "lif2.v_seq"),
            ("lif3", "lif3.h_seq"),
        ],
    })
}

pub(super) fn conv(sizes: &Sizes<'_>) -> Result<Reference> {
    let [features, _] = sizes.shape("lif2.recurrent.weight")?;
    let feedback = Feedback::new(features).bias(sizes.has("lif2.recurrent.bias"));
    let module = Sequential::new()
        .add_named("conv1", sizes.conv("conv1")?)
        .add_named("bn1", sizes.batch_norm("bn1")?)
        .add_named("pool", MaxPool2d::new(2))
        .add_named("lif1", leaky(sizes, "lif1"))
        .add_named("flatten", Flatten)
        .add_named("fc", sizes.linear("fc")?)
        .add_named("lif2", Recurrent::through(leaky(sizes, "lif2"), feedback));
    Ok(Reference {
        framework: Framework::SnnTorch,
        module,
        layers: vec![("lif1", "lif1"), ("lif2", "lif2.neuron")],
        potentials: vec![("lif1", "lif1.v_seq"), ("lif2", "lif2.neuron.v_seq")],
    })
}
