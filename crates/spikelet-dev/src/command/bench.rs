//! `spikelet-dev bench …`

use serde_json::json;
use spikelet::graph::{Plan, Var};
use spikelet::human::bytes;
use spikelet::log::Console;
use spikelet::module::{Context, Init, Module, Precision, Propagation};
use spikelet::prelude::{Atan, Lif, NeuronExt};
use spikelet::runtime::VarStore;
use spikelet_cli::args::{DeviceArgs, count, words};
use spikelet_cli::command::bench::copy::{COPY, Copy, USUAL};
use spikelet_cli::command::bench::measure::{Measurement, Repeats};
use spikelet_cli::command::bench::passes::{Backward, Passes};
use spikelet_cli::command::bench::{measured, peak};
use spikelet_cli::command::{examples, say_table};
use spikelet_cli::failure::Failure;
use spikelet_cli::table::Table;
use std::process::ExitCode;

/// Benchmarks of single layers
#[derive(clap::Subcommand)]
#[command(after_help = examples![
    "spikelet-dev bench linear-lif --features 512" => "a linear layer with its neurons",
])]
pub enum Command {
    LinearLif(LinearLif),
}

/// Measure a linear layer with its neurons
///
/// Linear(N → N) without bias, then LIF with τ = 5 and the arc tangent, on uniform input
/// [T, batch, N]. The backward pass computes the gradients of the weight and of the input from given
/// gradients of the spikes.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet-dev bench linear-lif --features 512,2048" => "two widths, 500 time steps, batches of 16",
    "spikelet-dev bench linear-lif --features 512 --time-steps 50 --propagation step-by-step" => "step by step",
])]
pub struct LinearLif {
    /// Number of neurons and of inputs; several, separated by commas
    #[arg(help_heading = "Size", long, value_name = "N", default_value = "512,2048", value_delimiter = ',', value_parser = features)]
    features: Vec<usize>,

    /// Number of time steps
    #[arg(help_heading = "Size", long, value_name = "T", default_value_t = 500, value_parser = count)]
    time_steps: usize,

    /// Batch size
    #[arg(help_heading = "Size", long, value_name = "N", default_value_t = 16, value_parser = count)]
    batch_size: usize,

    /// Number format of matrix products and sequences
    #[arg(help_heading = "Size", long, value_name = "TYPE", default_value = "f32", value_parser = words::<Precision>())]
    precision: Precision,

    /// Execution order of layers and time steps
    #[arg(help_heading = "Size", long, value_name = "ORDER", default_value = "layer-by-layer", value_parser = words::<Propagation>())]
    propagation: Propagation,

    #[command(flatten)]
    repeats: Repeats,

    #[command(flatten)]
    device: DeviceArgs,
}

/// The largest number of features; larger weights do not fit into memory.
const MOST: usize = 1 << 17;

fn features(text: &str) -> Result<usize, String> {
    count(text).and_then(|n| match n {
        n if n <= MOST => Ok(n),
        _ => Err(format!("use at most {MOST}")),
    })
}

/// The passes measured for each size.
const PASSES: [Backward; 3] = [Backward::None, Backward::Parameters, Backward::All];

fn key(features: usize, backward: Backward) -> String {
    let pass = match backward {
        Backward::None => "forward",
        Backward::Parameters => "forward_backward_weights",
        Backward::All => "forward_backward",
    };
    format!("linear_lif_{pass}/{features}")
}

impl LinearLif {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        if let Some(key) = &self.repeats.only {
            console.say_json(&self.measure(key)?.json());
            return Ok(ExitCode::SUCCESS);
        }
        let backend = self.device.open()?;
        console.say(format!(
            "Linear(N → N) and LIF · T={}, batches of {}, {}, {} · {}\n",
            self.time_steps,
            self.batch_size,
            self.precision,
            self.propagation,
            self.device.describe(&*backend),
        ));
        let copy = measured(&*backend, COPY, || self.measure(COPY))?;
        let copy_speed = self.copy().say(&copy, console);
        let mut table = Table::new(&[
            "N", "pass", "kernels", "GFLOP", "moved", "ms", "GFLOP/s", "of copy", "peak",
        ])
        .right(&[0, 2, 3, 4, 5, 6, 7, 8]);
        for &features in &self.features {
            for backward in PASSES {
                let net = Layer { features };
                let passes = self.passes(&net, features, backward);
                let plan = Plan::new(passes.trace()?.graph, &*backend);
                let key = key(features, backward);
                let found = measured(&*backend, &key, || self.measure(&key))?;
                let gflop = plan.flops() as f64 / 1e9;
                let rate = gflop / (found.median_ms / 1e3);
                let mut line = found.json();
                line["name"] = json!(key.split('/').next());
                line["features"] = json!(features);
                line["time_steps"] = json!(self.time_steps);
                line["batch_size"] = json!(self.batch_size);
                line["precision"] = json!(self.precision);
                line["propagation"] = json!(self.propagation);
                line["kernels"] = json!(plan.kernels.len());
                line["flops"] = json!(plan.flops());
                line["plan_peak_bytes"] = json!(plan.peak_bytes());
                let moved = plan.moved_bytes();
                let share = found.speed(moved) / copy_speed;
                line["bytes"] = json!(moved);
                line["copy_share"] = json!(share);
                console.say_json(&line);
                table.row([
                    features.to_string(),
                    backward.label().to_string(),
                    plan.kernels.len().to_string(),
                    format!("{gflop:.1}"),
                    bytes(moved),
                    format!("{:.3}", found.median_ms),
                    format!("{rate:.0}"),
                    format!("{:.0} %", 100.0 * share),
                    peak(&found, &plan, &*backend),
                ]);
            }
        }
        say_table(console, &table);
        Ok(ExitCode::SUCCESS)
    }

    fn passes<'a>(&self, net: &'a Layer, features: usize, backward: Backward) -> Passes<'a> {
        Passes {
            module: net,
            propagation: self.propagation,
            dtype: self.precision.storage_dtype(),
            // Input and output sequences have 16 bits, as inside a network: only the weight is
            // converted.
            precision: match self.precision {
                Precision::Bf16 | Precision::F16 => Precision::F32,
                other => other,
            },
            time_steps: self.time_steps,
            step: vec![self.batch_size, features],
            backward,
        }
    }

    fn copy(&self) -> Copy {
        Copy {
            bytes: USUAL,
            threads: self.device.threads,
        }
    }

    fn measure(&self, name: &str) -> Result<Measurement, Failure> {
        let backend = self.device.open()?;
        if name == COPY {
            return self.copy().measure(&backend, &self.repeats);
        }
        let sizes = self.features.iter();
        let mut cases = sizes.flat_map(|&n| PASSES.map(|backward| (n, backward)));
        let found = cases.find(|&(features, backward)| key(features, backward) == name);
        let (features, backward) = found.ok_or_else(|| {
            Failure::argument(
                format!("there is no measurement `{name}`"),
                "leave out --only",
            )
        })?;
        let mut store = VarStore::new(backend.clone());
        let net = Layer { features };
        let mut program = self.passes(&net, features, backward).compile(&mut store)?;
        let wait = || Ok(backend.synchronize()?);
        self.repeats.measure(name, wait, || Ok(program.run()?))
    }
}

/// y = LIF(x·Wᵀ), multiplied in the type of x.
struct Layer {
    features: usize,
}

impl Module for Layer {
    fn forward(&self, cx: &Context, x: &Var) -> spikelet::Result<Var> {
        let shape = [self.features, self.features];
        let weight = cx.parameter("weight", shape, Init::fan_in(self.features));
        let current = x.linear(&weight.cast(x.ty().dtype));
        let lif = Lif::new(5.0).surrogate(Atan::default());
        cx.child("lif", |cx| lif.forward(cx, &current))
    }
}
