//! snnTorch's and sparch's neurons, published layers of neurons, and readouts over time: `import(export(net))` fires the
//! same spikes.

use crate::nir::exported::{check, exported, input, outputs, store};
use spikelet::layer::{
    LiReadout, LifRecurrent, NeuronLayer, NeuronLayerKind, RDecayLif, RLeaky, RLif, RSynaptic,
};
use spikelet::network::Layers;
use spikelet::neuron::{RLeakyCell, RSynapticCell, SparchLif, Synaptic};
use spikelet::nir::{
    self, Convention, ExportOptions, ImportOptions, MetadataValue, NodeKind, Semantics,
};
use spikelet::prelude::*;

/// A neuron between weights that let it fire.
fn check_neuron(name: &str, neuron: impl Neuron + Clone + 'static) {
    let weights = |inputs, outputs| {
        let init = Init::Uniform { bound: 2.0 };
        Linear::new(inputs, outputs).weight_init(init).bias(true)
    };
    let net = Sequential::new()
        .add(weights(6, 8))
        .add(neuron.clone())
        .add(weights(8, 5))
        .add(neuron);
    let own = store(&net, &[6]);
    check(name, &net, own, &[6], true);
}

#[test]
fn neurons_of_snntorch_fire_the_same_spikes() {
    check_neuron("synaptic", Synaptic::default());
    check_neuron("synaptic to 0", Synaptic::default().v_reset(0.0));
    for (reset_delay, v_reset) in [(true, None), (true, Some(0.1)), (false, Some(0.0))] {
        for one_to_one in [false, true] {
            let cell = RLeakyCell {
                beta: 0.7,
                one_to_one,
                feedback: -0.4,
                reset_delay,
                ..RLeakyCell::default()
            };
            let cell = cell.v_reset(v_reset);
            let name = format!("{cell:?}");
            check_neuron(&name, cell.clone());
            check_neuron(
                &name,
                RSynapticCell {
                    alpha: 0.6,
                    neuron: cell,
                },
            );
        }
    }
    check_neuron(
        "trained feedback",
        RLeakyCell::one_to_one(Granularity::Neuron),
    );
}

#[test]
fn a_reset_of_snntorch_that_subtracts_at_once_is_an_approximation() {
    let net = Sequential::new().add(RLeakyCell {
        reset_delay: false,
        ..RLeakyCell::default()
    });
    let own = store(&net, &[6]);
    let options = ExportOptions {
        approximate: true,
        ..ExportOptions::new([6])
    };
    let made = nir::export(&net, &own, &options).expect("an approximation");
    assert!(
        made.notes[0].contains("twice the threshold"),
        "{:?}",
        made.notes
    );
}

#[test]
fn a_neuron_of_snntorch_that_is_reset_above_its_trained_threshold_is_refused() {
    let cell = RLeakyCell {
        reset_delay: false,
        ..RLeakyCell::default()
    };
    let cell = cell.v_reset(0.0);
    let net = Sequential::new().add(cell.trainable("v_threshold", Trainable::default()));
    let mut own = store(&net, &[6]);
    let shape = own.get("0.v_threshold").expect("a parameter").shape.clone();
    let below = Tensor::f32(shape, [-0.5]);
    own.set("0.v_threshold", &below).expect("a parameter");
    let error = nir::export(&net, &own, &ExportOptions::new([6])).expect_err("refused");
    let text = error.to_string();
    assert!(
        text.contains("node `0`: its potential starts or is reset above the threshold"),
        "{text}"
    );
}

#[test]
fn the_neuron_of_sparch_subtracts_in_the_step_of_the_spike() {
    let neuron = SparchLif {
        random_start: false,
        ..SparchLif::default()
    };
    check_neuron("sparch_lif", neuron);
}

/// A layer whose weights let its neurons fire, behind which are readout neurons.
fn check_layer<K: NeuronLayerKind>(layer: NeuronLayer<K>) {
    let layer = layer.with(|parts| parts.linear.weight_init = Some(Init::Uniform { bound: 4.0 }));
    let net = Sequential::new().add(layer);
    let own = store(&net, &[6]);
    check(K::NAME, &net, own, &[6], true);
}

#[test]
fn published_layers_fire_the_same_spikes() {
    let rleaky = RLeaky::new(6, 8);
    check_layer(rleaky.clone());
    check_layer(rleaky.neuron(|cell| {
        RLeakyCell {
            reset_delay: false,
            ..cell
        }
        .v_reset(0.0)
    }));
    check_layer(RSynaptic::new(6, 8).zero_diagonal(true).dropout(0.3));
    check_layer(RDecayLif::new(6, 8));
    check_layer(LifRecurrent::new(6, 8).neuron(|lif| lif.v_threshold(0.2)));
    let lif = |cell| SparchLif {
        random_start: false,
        ..cell
    };
    check_layer(RLif::new(6, 8).neuron(lif));
    check_layer(RLif::new(6, 8).recurrent(false).bias(true).neuron(lif));
    let net = Sequential::new().add(LiReadout::new(6, 3));
    let own = store(&net, &[6]);
    check("li-readout", &net, own, &[6], false);
}

#[test]
fn a_published_layer_is_nodes_with_its_names_and_a_cycle() {
    let net = Sequential::new().add(RLif::new(6, 8).neuron(|cell| SparchLif {
        random_start: false,
        ..cell
    }));
    let own = store(&net, &[6]);
    let (graph, _) = exported(&net, &own, &[6]);
    let nodes: Vec<(&str, &str)> = graph
        .nodes
        .iter()
        .map(|(name, node)| (name.as_str(), node.kind.name()))
        .collect();
    let expected = [
        ("0.feedback", "Linear"),
        ("0.linear", "Affine"),
        ("0.neuron", "LIF"),
        ("input", "Input"),
        ("output", "Output"),
    ];
    assert_eq!(nodes, expected);
}

#[test]
fn a_readout_over_time_is_not_part_of_the_graph() {
    let last = Sequential::new().add(Recurrent::new(If::new(), 6).last());
    let readouts: [(&str, Sequential); 4] = [
        ("TimeLast", last),
        ("TimeSum", Sequential::new().add(If::new()).add(TimeSum)),
        ("TimeMean", Sequential::new().add(If::new()).add(TimeMean)),
        (
            "Sum",
            Sequential::new().add(If::new().fires(false).readout(Readout::Sum)),
        ),
    ];
    for (name, net) in readouts {
        let own = store(&net, &[6]);
        let made = nir::export(&net, &own, &ExportOptions::new([6])).expect("an exact form");
        assert!(
            made.notes[0].contains(&format!("the readout over time `{name}`")),
            "{:?}",
            made.notes
        );
        let MetadataValue::Group(group) = &made.graph.nodes["output"].metadata["spikelet"] else {
            panic!("a group");
        };
        assert!(matches!(&group["readout"], MetadataValue::Text(text) if text == name));
        let feedback = usize::from(name == "TimeLast");
        assert_eq!(made.graph.nodes.len(), 3 + feedback);
    }
}

#[test]
fn the_braille_network_fires_the_same_spikes() {
    let text = include_str!("../../recipes/braille-rsnn.toml");
    let tables = [
        "data",
        "encoder",
        "loss",
        "optimizer",
        "schedule",
        "training",
        "device",
        "output",
    ];
    let network = Layers::from_toml("braille-rsnn.toml", text, &tables).expect("a network");
    let net = network.module().expect("a module");
    let mut own = store(&*net, &[12]);
    // The initial weights are small; the trained ones let all layers fire.
    let names: Vec<String> = own.names().map(String::from).collect();
    for name in names.iter().filter(|name| name.ends_with("weight")) {
        let weight = own.get(name).expect("a tensor");
        let larger: Vec<f32> = weight.to_f64().iter().map(|w| 3.0 * *w as f32).collect();
        own.set(name, &Tensor::f32(weight.shape.clone(), larger))
            .expect("a tensor of the network");
    }
    let (graph, imported) = exported(&*net, &own, &[12]);
    let kind = |name: &str| graph.nodes[name].kind.name();
    assert_eq!(
        ["lif1.neuron", "lif1.feedback", "lif2"].map(kind),
        ["CubaLIF", "Affine", "CubaLIF"]
    );
    assert!(matches!(&graph.nodes["fc1"].kind, NodeKind::Affine(_)));
    // The graph returns every step, the network their sum.
    let x = input(&[12]);
    let expected = outputs(&*net, &mut own, &x).to_f64();
    let device = crate::nir::exported::device();
    let mut store = imported.store(device, DType::F32).expect("a store");
    let found = outputs(&imported.module, &mut store, &x);
    let classes = expected.len();
    let mut sums = vec![0.0; classes];
    for (k, spike) in found.to_f64().into_iter().enumerate() {
        sums[k % classes] += spike;
    }
    assert!(expected.iter().any(|sum| *sum > 0.0), "nothing fires");
    assert_eq!(sums, expected);
    // Its time steps are those of snnTorch, which reads the graph with its own step length.
    let options = ExportOptions {
        dt: 1e-4,
        ..ExportOptions::new([12])
    };
    let made = nir::export(&*net, &own, &options).expect("an exact form");
    let recorded = nir::import(&made.graph, &ImportOptions::default()).expect("a module");
    let snntorch = ImportOptions::of(Convention::Snntorch);
    let read = nir::import(&made.graph, &snntorch).expect("a module");
    assert_eq!(read.tensors, recorded.tensors);
    let dt_from = recorded.semantics.dt_from;
    assert_eq!(
        Semantics {
            dt_from,
            ..read.semantics
        },
        recorded.semantics
    );
}
