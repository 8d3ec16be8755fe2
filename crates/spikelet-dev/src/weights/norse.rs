//! The network of Norse, whose constants are not in the weights.

use super::{Reference, Sizes};
use spikelet::layer::LifRecurrent;
use spikelet::neuron::NorseLif;
use spikelet::prelude::*;
use spikelet::weights::Framework;

/// The length of a step in seconds.
const DT: f64 = 1e-3;

pub(super) fn recurrent(sizes: &Sizes<'_>) -> Result<Reference> {
    let [features, inputs] = sizes.shape("2.input_weights")?;
    let threshold = |cell: NorseLif| cell.v_threshold(0.5);
    let module = Sequential::new()
        .add(sizes.linear("0")?)
        .add(threshold(NorseLif {
            dt: DT,
            ..NorseLif::default()
        }))
        .add(LifRecurrent::new(inputs, features).neuron(threshold))
        .add(sizes.linear("3")?)
        .add(Lif::new(1.0 / (DT * 300.0)).v_threshold(0.3));
    Ok(Reference {
        framework: Framework::Norse,
        module,
        layers: vec![("1", "1"), ("2", "2.neuron"), ("4", "4")],
        potentials: vec![],
    })
}
