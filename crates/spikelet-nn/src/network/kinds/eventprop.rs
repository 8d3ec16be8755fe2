//! `{ eventprop-lif = 256, tau_m = 20.0, tau_s = 5.0, dt = 1.0, feedback = true }`,
//! `{ eventprop-readout = 10, tau_m = 20.0, tau_s = 5.0, dt = 1.0 }`: layers that EventProp trains on a grid of time steps.

use super::keys::{DT, INIT, TAU_M, TAU_S, key};
use super::{Kind, MainValue, number};
use crate::domain::Domain;
use crate::layer::{EventPropLif, EventPropReadout, EventPropTime};
use crate::network::Layers;
use crate::network::build::Builder;
use crate::network::layer_fields::LayerFields;
use spikelet_core::document::Located;

pub(super) const EVENTPROP_LIF: Kind = Kind {
    name: "eventprop-lif",
    types: &["EventPropLif"],
    summary: "fully connected layer and LIF neurons with exponential synapses, trained by EventProp",
    main: MainValue::Required(key!(features: "integer", "the number of neurons")),
    keys: &[
        TAU_M,
        TAU_S,
        DT,
        key!(v_threshold: "number" = "1.0", "the threshold, above 0"),
        key!(feedback: "flag" = "false", "whether there are connections between the neurons"),
        key!(self_connections: "flag" = "false", "whether these include connections of neurons to themselves"),
        INIT,
    ],
    example: (&[8], "{ eventprop-lif = 6, feedback = true }"),
    build: |layer, b| {
        let (inputs, neurons, time) = sizes(layer, b)?;
        let mut module = EventPropLif::new(inputs, neurons, time);
        if let Some(threshold) = positive(layer, "v_threshold")? {
            module = module.v_threshold(threshold);
        }
        module.recurrent = layer.fields.flag("feedback")?.unwrap_or(false);
        module.self_connections = layer.fields.flag("self_connections")?.unwrap_or(false);
        module.weight_init = layer.init(neurons)?;
        let rows = match module.recurrent {
            true => inputs.checked_add(neurons),
            false => Some(inputs),
        };
        let weights = rows.and_then(|rows| rows.checked_mul(neurons));
        b.leaf("eventprop-lif", module, weights, |_| weights)
    },
};

pub(super) const EVENTPROP_READOUT: Kind = Kind {
    name: "eventprop-readout",
    types: &["EventPropReadout"],
    summary: "fully connected layer and leaky integrators with exponential synapses, trained by EventProp",
    main: MainValue::Required(key!(features: "integer", "the number of outputs")),
    keys: &[TAU_M, TAU_S, DT, INIT],
    example: (&[8], "{ eventprop-readout = 3 }"),
    build: |layer, b| {
        let (inputs, outputs, time) = sizes(layer, b)?;
        let mut module = EventPropReadout::new(inputs, outputs, time);
        module.weight_init = layer.init(outputs)?;
        let weights = inputs.checked_mul(outputs);
        b.leaf("eventprop-readout", module, weights, |_| weights)
    },
};

/// Inputs, neurons, and the constants of time.
fn sizes(layer: &LayerFields<'_>, b: &Builder) -> Result<(usize, usize, EventPropTime), Located> {
    let kind = layer.kind.name;
    let neurons = layer.main()?.integer(kind, 1..=Layers::MAX_SIZE)?;
    let [inputs] = b.shape[..] else {
        return Err(b.wrong_axes(kind, "[features]"));
    };
    let constant = |key, default| Ok(positive(layer, key)?.unwrap_or(default));
    let time = EventPropTime {
        tau_m: constant("tau_m", 20.0)?,
        tau_s: constant("tau_s", 5.0)?,
        dt: constant("dt", 1.0)?,
    };
    Ok((inputs, neurons, time))
}

fn positive(layer: &LayerFields<'_>, key: &str) -> Result<Option<f64>, Located> {
    let node = layer.fields.get(key);
    node.map(|node| number(node, key, Domain::above(0.0)))
        .transpose()
}
