//! `spikelet energy`

use super::trained::Trained;
use super::{examples, path_text, say_table};
use crate::args::{EvaluationArgs, words};
use crate::failure::Failure;
use crate::table::Table;
use serde_json::{Value, json};
use spikelet::energy::{
    CostTable, Energy, Estimate, LayerCounts, NetworkCounts, NeuroBench, NumberFormat, WeightReads,
};
use spikelet::human::{bytes, duration, percent, thousands};
use spikelet::log::Console;
use spikelet::module::Precision;
use spikelet::train::count_operations;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

/// Estimate the energy of a trained network from the operations that it executes
///
/// Counts spikes, synaptic operations (accumulates: additions of weights; multiply-accumulates, where the
/// input is not spikes), neuron updates and memory traffic of each layer on the test images, and computes
/// the energy for one image with published cost tables: of the spiking network, of an artificial network
/// of the same shape, and of its 8-bit version. It is an estimate of a model of hardware, not a
/// measurement; its assumptions are printed with it. With --json it has the metrics of NeuroBench too.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet energy runs/mnist-fc/latest/best.safetensors" => "on the data set it was trained on",
    "spikelet energy best.safetensors --test-images 1000 --json" => "on the first 1000 test images, as JSON",
    "spikelet energy best.safetensors --weight-reads each-pass" => "for hardware that reads a weight once in each time step",
])]
pub struct EnergyOf {
    /// How often a weight is read from memory
    #[arg(long, value_name = "READS", value_parser = words::<WeightReads>(), default_value_t)]
    weight_reads: WeightReads,

    /// Cost table: horowitz-45nm, horowitz-45nm-memory, or a TOML file; several, separated by commas [default: the
    /// published ones]
    #[arg(long, value_name = "TABLE", value_delimiter = ',', value_parser = cost_table)]
    cost_table: Vec<CostTable>,

    #[command(flatten)]
    evaluation: EvaluationArgs,
}

/// A published table, or that of a file.
fn cost_table(text: &str) -> Result<CostTable, String> {
    let of_file = |path| CostTable::read(path).map_err(|error| error.to_string());
    match Path::new(text) {
        path if path.extension().is_some_and(|text| text == "toml") => of_file(path),
        _ => CostTable::find(text).map_err(|error| error.to_string()),
    }
}

impl EnergyOf {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let (mut trained, settings, test) = Trained::evaluated(&self.evaluation, console)?;
        let (network, test) = (&trained.network, &test);
        let start = Instant::now();
        let (evaluation, counts) = count_operations(
            &*network.module()?,
            &settings,
            test.samples(),
            &mut trained.store,
        )?;
        let (seconds, kind) = (start.elapsed().as_secs_f64(), test.kind());
        let report = Report {
            format: match settings.precision {
                Precision::F32 | Precision::Tf32 => NumberFormat::F32,
                Precision::Bf16 | Precision::F16 => NumberFormat::F16,
            },
            reads: self.weight_reads,
            counts,
            tables: match self.cost_table.is_empty() {
                true => CostTable::published().into(),
                false => self.cost_table,
            },
        };
        let estimates = report.estimates()?;
        console.say_json(&json!({
            "checkpoint": path_text(&trained.path), "network": network, "dataset": test.name(), "images": test.len(),
            "accuracy": evaluation.accuracy, "loss": evaluation.loss, "seconds": seconds, "format": report.format,
            "weight_reads": report.reads, "layers": report.layers_json(),
            "neurobench": NeuroBench::of(&report.counts, report.format)?,
            "estimates": estimates.iter().flatten().map(estimate_json).collect::<Vec<_>>(),
        }));
        console.say(format!(
            "{} on {} ({} {kind}s): accuracy {} · {}\n\nfor one {kind}:",
            network.name(),
            test.name(),
            thousands(test.len() as u64),
            console.green(percent(evaluation.accuracy).trim_start()),
            duration(seconds),
        ));
        say_table(console, &report.operations());
        for of_table in &estimates {
            console.say("");
            say_table(console, &energies(of_table));
            assumptions(of_table)
                .iter()
                .for_each(|line| console.say(line));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The counts, and the choices of the estimates.
struct Report {
    format: NumberFormat,
    reads: WeightReads,
    counts: NetworkCounts,
    tables: Vec<CostTable>,
}

impl Report {
    /// The estimates of each cost table: the spiking network, the artificial one, its 8-bit version.
    fn estimates(&self) -> Result<Vec<[Estimate; 3]>, Failure> {
        let tables = self.tables.iter().map(|table| {
            let artificial = |format| Estimate::artificial(&self.counts, table, format, self.reads);
            Ok([
                Estimate::spiking(&self.counts, table, self.format, self.reads)?,
                artificial(self.format)?,
                artificial(NumberFormat::I8)?,
            ])
        });
        tables.collect()
    }

    /// A sum over all samples, for one sample.
    fn each(&self, sum: u64) -> f64 {
        sum as f64 / self.counts.samples.max(1) as f64
    }

    /// Operations and memory traffic by layer.
    fn operations(&self) -> Table {
        let mut table = Table::new(&[
            "layer",
            "spikes",
            "rate",
            "accumulates",
            "multiply-accumulates",
            "neuron updates",
            "parameters read",
            "states",
            "activations",
        ])
        .right(&[1, 2, 3, 4, 5, 6, 7, 8]);
        let mut total = [0.0; 7];
        for layer in &self.counts.layers {
            let traffic = layer.memory_traffic(self.counts.samples, self.format, self.reads);
            let cells = [
                self.each(layer.nonzero_outputs),
                self.each(layer.accumulates),
                self.each(layer.multiply_accumulates),
                layer.neuron_updates(1) as f64,
                traffic.parameters,
                traffic.states,
                traffic.activations,
            ];
            total
                .iter_mut()
                .zip(cells)
                .for_each(|(sum, cell)| *sum += cell);
            let rate = self.rate(layer);
            table.row(operations_row(&layer.name, rate, cells));
        }
        table.row(operations_row("total", None, total));
        table
    }

    /// Spikes for each neuron and time step; `None` without neurons.
    fn rate(&self, layer: &LayerCounts) -> Option<f64> {
        let updates = layer.neuron_updates(self.counts.samples);
        (updates > 0).then(|| layer.nonzero_outputs as f64 / updates as f64)
    }

    fn layers_json(&self) -> Vec<Value> {
        let layers = self.counts.layers.iter();
        let layers = layers.map(|layer| {
            let mut json = json!(layer);
            json["rate"] = json!(self.rate(layer));
            json["neuron_updates"] = json!(layer.neuron_updates(1));
            json["traffic"] =
                json!(layer.memory_traffic(self.counts.samples, self.format, self.reads));
            json
        });
        layers.collect()
    }
}

fn operations_row(name: &str, rate: Option<f64>, cells: [f64; 7]) -> Vec<String> {
    let [
        spikes,
        accumulates,
        products,
        updates,
        parameters,
        states,
        activations,
    ] = cells;
    let count = |count: f64| thousands(count.round() as u64);
    let size = |size: f64| bytes(size.round() as u64);
    vec![
        name.to_string(),
        count(spikes),
        rate.map_or(String::new(), |rate| percent(rate).trim_start().to_string()),
        count(accumulates),
        count(products),
        count(updates),
        size(parameters),
        size(states),
        size(activations),
    ]
}

/// The energies of the layers under one cost table.
fn energies(estimates: &[Estimate; 3]) -> Table {
    let head = [
        &estimates[0].table,
        "spiking",
        "artificial",
        "artificial, 8 bits",
    ];
    let mut table = Table::new(&head).right(&[1, 2, 3]);
    let mut row = |name: &str, energies: [Energy; 3]| {
        let energies = energies.map(|energy| energy.to_string());
        table.row([vec![name.to_string()], energies.to_vec()].concat());
    };
    for (k, layer) in estimates[0].layers.iter().enumerate() {
        let of_layer = |e: &Estimate| e.layers.get(k).map(|layer| layer.total());
        let energies = [0, 1, 2].map(|n| of_layer(&estimates[n]).unwrap_or_default());
        row(&layer.name, energies);
    }
    row("total", [0, 1, 2].map(|n| estimates[n].total()));
    table
}

/// The assumptions of estimates, those of all of them first.
fn assumptions(estimates: &[Estimate; 3]) -> Vec<String> {
    let [first, others @ ..] = estimates;
    let shared = |sentence: &String| others.iter().all(|e| e.assumptions.contains(sentence));
    let mut lines = vec!["assumptions:".to_string()];
    let common = first.assumptions.iter().filter(|sentence| shared(sentence));
    lines.extend(common.map(|sentence| format!("  - {sentence}")));
    for estimate in estimates {
        lines.push(format!("  {}:", estimate.subject));
        let own = estimate.assumptions.iter();
        let own =
            own.filter(|sentence| !(first.assumptions.contains(sentence) && shared(sentence)));
        lines.extend(own.map(|sentence| format!("    - {sentence}")));
    }
    lines
}

fn estimate_json(estimate: &Estimate) -> Value {
    let mut json = json!(estimate);
    json["total"] = json!(estimate.total());
    json
}
