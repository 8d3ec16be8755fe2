//! The reference cases: spikes in the same order, their times, outputs, losses and gradients to 1e-8.
//!
//! Each file has the inputs, the weights and the expected results; its metadata `spec` has the equations and says
//! how they were verified (finite differences of the exact loss).

use safetensors::SafeTensors;
use serde_json::Value;
use spikelet_eventprop::{
    CrossEntropy, FirstSpikeLoss, Functional, LifLayer, Loss, Network, Readout, Rules, SpikeTrain,
    TimeConstants, Weights,
};
use std::path::Path;

struct Case {
    bytes: Vec<u8>,
    constants: Value,
}

impl Case {
    fn read(name: &str) -> Self {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.safetensors"));
        let bytes = std::fs::read(path).expect("the case is there");
        let (_, header) = SafeTensors::read_metadata(&bytes).expect("a safetensors file");
        let spec = &header.metadata().as_ref().expect("metadata")["spec"];
        let spec: Value = serde_json::from_str(spec).expect("JSON");
        Self {
            constants: spec["constants"].clone(),
            bytes,
        }
    }

    fn constant(&self, name: &str) -> f64 {
        self.constants[name].as_f64().expect("a number")
    }

    /// The elements of 8 bytes, and the shape.
    fn raw(&self, name: &str) -> (Vec<[u8; 8]>, Vec<usize>) {
        let file = SafeTensors::deserialize(&self.bytes).expect("a safetensors file");
        let tensor = file.tensor(name).expect("the tensor");
        let elements = tensor
            .data()
            .chunks_exact(8)
            .map(|b| b.try_into().expect("8 bytes"));
        (elements.collect(), tensor.shape().to_vec())
    }

    fn floats(&self, name: &str) -> Vec<f64> {
        self.raw(name)
            .0
            .into_iter()
            .map(f64::from_le_bytes)
            .collect()
    }

    fn indices(&self, name: &str) -> Vec<usize> {
        self.raw(name)
            .0
            .into_iter()
            .map(|b| i64::from_le_bytes(b) as usize)
            .collect()
    }

    fn weights(&self, name: &str) -> Weights {
        let shape = self.raw(name).1;
        Weights::from_rows(shape[0], shape[1], &self.floats(name)).expect("a matrix")
    }

    fn samples(&self) -> Vec<SpikeTrain> {
        let (times, units) = (self.floats("in.time"), self.indices("in.unit"));
        let of = self.indices("in.sample");
        let sample = |s| {
            SpikeTrain::new(
                (0..times.len())
                    .filter(|&k| of[k] == s)
                    .map(|k| (times[k], units[k])),
            )
        };
        (0..self.indices("in.label").len()).map(sample).collect()
    }
}

fn close(name: &str, found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{name}");
    let largest = expected.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    let difference = found
        .iter()
        .zip(expected)
        .fold(0.0_f64, |most, (a, b)| most.max((a - b).abs()));
    println!("{name}: {:.1e}", difference / largest);
    assert!(
        difference <= 1e-8 * largest,
        "{name} differs by {difference}, its largest value is {largest}"
    );
}

fn run(name: &str) {
    let case = Case::read(name);
    let tau = TimeConstants {
        tau_m: case.constant("tau_m"),
        tau_s: case.constant("tau_s"),
    };
    let threshold = case.constant("v_threshold");
    let labels = case.indices("in.label");
    let w_rec = case.weights("param.w_rec");
    let recurrent = w_rec.values().iter().any(|w| *w != 0.0);
    let mut hidden = LifLayer::new(tau, threshold, case.weights("param.w_in")).expect("valid");
    if recurrent {
        hidden = hidden.recurrent(w_rec).expect("valid");
    }
    let neurons = hidden.neurons();
    let w_out = case.weights("param.w_out");
    let t_end = case.constant("t_end");
    let potential = case.constants["output"] == "li";
    let (network, loss): (Network, Box<dyn Loss>) = if potential {
        let network = Network::new(t_end, vec![hidden]).expect("valid");
        let readout = Readout::new(tau, Functional::Mean, w_out).expect("valid");
        (
            network.readout(readout).expect("valid"),
            Box::new(CrossEntropy::new(labels)),
        )
    } else {
        let output = LifLayer::new(tau, threshold, w_out).expect("valid");
        let loss = FirstSpikeLoss::new(labels, case.constant("tau_0")).expect("valid");
        let loss = loss
            .early(case.constant("alpha"), case.constant("tau_1"))
            .expect("valid");
        (
            Network::new(t_end, vec![hidden, output]).expect("valid"),
            Box::new(loss),
        )
    };

    let samples = case.samples();
    let traces = network.forward(&samples).expect("spikes");
    let gradients = network
        .gradient(&samples, &traces, &*loss, &Rules::default())
        .expect("gradients");

    // Spikes by sample, then time; output neurons are numbered behind the hidden ones.
    let mut spikes = vec![];
    for (sample, trace) in traces.iter().enumerate() {
        let layers = (0..network.layers().len()).flat_map(|k| {
            let spikes = trace.spikes(k).unwrap_or_default();
            spikes
                .iter()
                .map(move |spike| (spike.time, spike.unit + k * neurons))
        });
        let mut layers: Vec<(f64, usize)> = layers.collect();
        layers.sort_by(|a, b| a.0.total_cmp(&b.0));
        spikes.extend(
            layers
                .into_iter()
                .map(|(time, neuron)| (sample, time, neuron)),
        );
    }
    let column =
        |of: fn(&(usize, f64, usize)) -> usize| spikes.iter().map(of).collect::<Vec<usize>>();
    assert_eq!(column(|spike| spike.0), case.indices("out.spike_sample"));
    assert_eq!(column(|spike| spike.2), case.indices("out.spike_neuron"));
    let times: Vec<f64> = spikes.iter().map(|spike| spike.1).collect();
    close("out.spike_time", &times, &case.floats("out.spike_time"));
    if potential {
        let outputs: Vec<f64> = traces
            .iter()
            .flat_map(|trace| trace.outputs().to_vec())
            .collect();
        close("out.mean_v", &outputs, &case.floats("out.mean_v"));
    }
    close("out.loss", &[gradients.loss], &case.floats("out.loss"));
    close(
        "grad.w_in",
        &gradients.layers[0].input.to_rows(),
        &case.floats("grad.w_in"),
    );
    if let Some(grad) = &gradients.layers[0].recurrent {
        close("grad.w_rec", &grad.to_rows(), &case.floats("grad.w_rec"));
    }
    let w_out = gradients
        .readout
        .as_ref()
        .unwrap_or_else(|| &gradients.layers[1].input);
    close("grad.w_out", &w_out.to_rows(), &case.floats("grad.w_out"));
}

#[test]
fn first_spikes_of_a_feed_forward_network() {
    run("eventprop_ttfs");
}

#[test]
fn first_spikes_of_a_recurrent_network() {
    run("eventprop_recurrent_ttfs");
}

#[test]
fn mean_potentials_of_a_readout_behind_a_recurrent_layer() {
    run("eventprop_voltage");
}
