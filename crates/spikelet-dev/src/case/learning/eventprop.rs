//! EventProp with exact spike times.

use super::Given;
use crate::case::{Results, expect, limited, raw, wrong};
use serde::Deserialize;
use spikelet::eventprop::{
    CrossEntropy, FirstSpikeLoss, Functional, LifLayer, Loss, Network, Readout, Rules, SpikeTrain,
    TimeConstants, Trace, Weights,
};
use spikelet::graph::{DType, Tensor};
use spikelet::{Error, Result};

#[derive(Deserialize)]
struct Constants {
    tau_m: f64,
    tau_s: f64,
    v_threshold: f64,
    t_end: f64,
    output: String,
    tau_0: f64,
    tau_1: f64,
    alpha: f64,
}

/// The largest number of spikes of a layer in a sample.
const MOST_SPIKES: usize = 1_000_000;

/// Computes the case.
pub fn run(given: &Given<'_>) -> Result<Results> {
    let constants: Constants = given.constants()?;
    if given.dtype != DType::F64 || given.backend.kind() != spikelet::graph::DeviceKind::Cpu {
        return Err(wrong(
            format!(
                "exact spike times are computed in f64 on the CPU, not in {} on {}",
                given.dtype,
                given.backend.name()
            ),
            "use --dtype f64 --device cpu",
        ));
    }
    let potential = match constants.output.as_str() {
        "li" => true,
        "lif" => false,
        other => {
            return Err(wrong(
                format!("the constant `output` is `{other}`"),
                "use li or lif",
            ));
        }
    };
    let weights = Matrices::read(given)?;
    let neurons = weights.hidden;
    let labels = labels(given, weights.outputs)?;
    let samples = samples(given, labels.len(), weights.inputs, constants.t_end)?;
    let recurrent = weights.w_rec.values().iter().any(|w| *w != 0.0);
    let (network, loss) = network(&constants, weights, recurrent, potential, labels)?;
    let traces = network.forward(&samples).map_err(in_case)?;
    let gradients =
        (network.gradient(&samples, &traces, &*loss, &Rules::default())).map_err(in_case)?;

    let spikes = spikes(&traces, network.layers().len(), neurons);
    let count = spikes.len();
    let column = |of: fn(&(usize, f64, usize)) -> i64| {
        Tensor::i64([count], spikes.iter().map(of).collect::<Vec<_>>())
    };
    let times: Vec<f64> = spikes.iter().map(|spike| spike.1).collect();
    let mut results = Results::from([
        (
            "out.spike_sample".to_string(),
            column(|spike| spike.0 as i64),
        ),
        (
            "out.spike_neuron".to_string(),
            column(|spike| spike.2 as i64),
        ),
        ("out.spike_time".to_string(), Tensor::f64([count], times)),
        (
            "out.loss".to_string(),
            Tensor::f64([], vec![gradients.loss]),
        ),
    ]);
    if potential {
        let values: Vec<f64> = traces
            .iter()
            .flat_map(|trace| trace.outputs().to_vec())
            .collect();
        let shape = [traces.len(), network.outputs()];
        results.insert("out.mean_v".to_string(), Tensor::f64(shape, values));
    }
    let mut gradient = |name: &str, weights: Option<&Weights>| {
        if let Some(w) = weights {
            let matrix = Tensor::f64([w.targets(), w.sources()], w.to_rows());
            results.insert(format!("grad.{name}"), matrix);
        }
    };
    let (hidden, last) = (gradients.layers.first(), gradients.layers.get(1));
    gradient("w_in", hidden.map(|layer| &layer.input));
    gradient("w_rec", hidden.and_then(|layer| layer.recurrent.as_ref()));
    gradient(
        "w_out",
        gradients
            .readout
            .as_ref()
            .or(last.map(|layer| &layer.input)),
    );
    Ok(results)
}

/// The three matrices of a case.
struct Matrices {
    w_in: Weights,
    w_rec: Weights,
    w_out: Weights,
    inputs: usize,
    hidden: usize,
    outputs: usize,
}

impl Matrices {
    fn read(given: &Given<'_>) -> Result<Self> {
        let matrix = |name: &str| {
            let tensor = given.input(name)?;
            match tensor.shape[..] {
                [rows, columns] => Ok((tensor.to_f64(), rows, columns)),
                _ => Err(wrong(
                    format!("`{name}` is {:?}", tensor.shape),
                    "give a matrix [post, pre]",
                )),
            }
        };
        let [w_in, w_rec, w_out] = ["param.w_in", "param.w_rec", "param.w_out"].map(matrix);
        let ((w_in, hidden, inputs), (w_rec, a, b), (w_out, outputs, c)) = (w_in?, w_rec?, w_out?);
        expect("param.w_rec", &[a, b], &[hidden, hidden])?;
        expect("param.w_out", &[outputs, c], &[outputs, hidden])?;
        limited(&[hidden, inputs], MOST_SPIKES, "weights")?;
        limited(&[outputs, hidden], MOST_SPIKES, "weights")?;
        let weights = |rows, columns, values: &[f64]| {
            Weights::from_rows(rows, columns, values).map_err(in_case)
        };
        Ok(Self {
            w_in: weights(hidden, inputs, &w_in)?,
            w_rec: weights(hidden, hidden, &w_rec)?,
            w_out: weights(outputs, hidden, &w_out)?,
            inputs,
            hidden,
            outputs,
        })
    }
}

fn network(
    constants: &Constants,
    weights: Matrices,
    recurrent: bool,
    potential: bool,
    labels: Vec<usize>,
) -> Result<(Network, Box<dyn Loss>)> {
    let tau = TimeConstants {
        tau_m: constants.tau_m,
        tau_s: constants.tau_s,
    };
    let threshold = constants.v_threshold;
    let mut hidden = LifLayer::new(tau, threshold, weights.w_in).map_err(in_case)?;
    if recurrent {
        hidden = hidden.recurrent(weights.w_rec).map_err(in_case)?;
    }
    hidden = hidden.max_spikes(MOST_SPIKES).map_err(in_case)?;
    if potential {
        let readout = Readout::new(tau, Functional::Mean, weights.w_out).map_err(in_case)?;
        let network = Network::new(constants.t_end, vec![hidden]).map_err(in_case)?;
        let network = network.readout(readout).map_err(in_case)?;
        return Ok((network, Box::new(CrossEntropy::new(labels))));
    }
    let output = LifLayer::new(tau, threshold, weights.w_out).map_err(in_case)?;
    let output = output.max_spikes(MOST_SPIKES).map_err(in_case)?;
    let network = Network::new(constants.t_end, vec![hidden, output]).map_err(in_case)?;
    let loss = FirstSpikeLoss::new(labels, constants.tau_0).map_err(in_case)?;
    let loss = loss
        .early(constants.alpha, constants.tau_1)
        .map_err(in_case)?;
    Ok((network, Box::new(loss)))
}

/// Samples, times and neurons of all spikes, by sample, then time. Output neurons are numbered behind the hidden ones.
fn spikes(traces: &[Trace], layers: usize, hidden: usize) -> Vec<(usize, f64, usize)> {
    let mut all = vec![];
    for (sample, trace) in traces.iter().enumerate() {
        let begin = all.len();
        for layer in 0..layers {
            let spikes = trace.spikes(layer).unwrap_or_default();
            all.extend(
                spikes
                    .iter()
                    .map(|spike| (sample, spike.time, spike.unit + layer * hidden)),
            );
        }
        all[begin..].sort_by(|a, b| a.1.total_cmp(&b.1));
    }
    all
}

/// The labels, each of which is one of `outputs`.
pub(super) fn labels(given: &Given<'_>, outputs: usize) -> Result<Vec<usize>> {
    let labels = indices(given, "in.label", outputs, "outputs")?;
    match labels.is_empty() {
        true => Err(wrong("`in.label` is empty", "give at least one sample")),
        false => Ok(labels),
    }
}

/// A list of whole numbers from 0 to `limit` − 1.
fn indices(given: &Given<'_>, name: &str, limit: usize, of: &str) -> Result<Vec<usize>> {
    let tensor = raw(given.case, name)?;
    if tensor.shape.len() != 1 {
        return Err(wrong(
            format!("`{name}` is {:?}", tensor.shape),
            "give a list",
        ));
    }
    let values = tensor.to_f64();
    match values
        .iter()
        .find(|&&x| x.fract() != 0.0 || !(0.0..limit as f64).contains(&x))
    {
        None => Ok(values.into_iter().map(|x| x as usize).collect()),
        Some(wrong_one) => Err(wrong(
            format!("`{name}` has {wrong_one}, there are {limit} {of}"),
            "give whole numbers from 0 to one less",
        )),
    }
}

fn samples(
    given: &Given<'_>,
    samples: usize,
    inputs: usize,
    t_end: f64,
) -> Result<Vec<SpikeTrain>> {
    let times = given.input("in.time")?;
    let (units, of) = (
        indices(given, "in.unit", inputs, "inputs")?,
        indices(given, "in.sample", samples, "samples")?,
    );
    expect("in.unit", &[units.len()], &times.shape)?;
    expect("in.sample", &[of.len()], &times.shape)?;
    let times = times.to_f64();
    if let Some(time) = times.iter().find(|time| !(0.0..=t_end).contains(*time)) {
        return Err(wrong(
            format!("`in.time` has {time}, a sample lasts from 0 to {t_end}"),
            "give times inside it",
        ));
    }
    let mut by_sample = vec![vec![]; samples];
    for ((time, unit), sample) in times.into_iter().zip(units).zip(of) {
        by_sample[sample].push((time, unit));
    }
    Ok(by_sample.into_iter().map(SpikeTrain::new).collect())
}

/// An error of the computation as one of the case.
fn in_case(error: spikelet::eventprop::Error) -> Error {
    let text = error.to_string();
    let (problem, help) = spikelet::problem_and_help(&text);
    wrong(problem, help.unwrap_or("correct the case"))
}
