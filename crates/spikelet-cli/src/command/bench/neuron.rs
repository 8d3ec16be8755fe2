//! `spikelet bench neuron`

use super::chart::Chart;
use super::copy::{COPY, Copy};
use super::measure::{Measurement, Repeats};
use super::passes::{Backward, Passes};
use super::{dtype, is_cpu, measured, peak};
use crate::args::{DeviceArgs, NeuronArgs, neuron_names, svg_path, value, words};
use crate::command::{examples, say_table};
use crate::failure::Failure;
use crate::machine;
use crate::table::Table;
use serde_json::json;
use spikelet::graph::{Backend, DType, Plan, TensorType};
use spikelet::human::{bytes, thousands};
use spikelet::log::Console;
use spikelet::module::{Precision, Propagation};
use spikelet::neuron::is_parallel;
use spikelet::runtime::VarStore;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// Measure a neuron's forward and backward passes, and a memory copy for comparison
///
/// Each number of time steps is measured in three execution orders: one multi-step kernel, one kernel
/// per step, and separate kernels for charge, fire and reset. In f32, the multi-step forward pass
/// reads x_seq and writes spike_seq, 8 bytes per element; forward and backward, as in a training
/// step, move 20 bytes. The other two orders also move the states between their kernels. The bytes
/// are those of the plan; `of copy` is the bandwidth relative to a memory copy on the same device.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet bench neuron" => "LIF with the arc tangent, 32 steps, 262,144 neurons",
    "spikelet bench neuron --time-steps 8,16,32,64,128 --neurons 65536" => "several numbers of time steps",
    "spikelet bench neuron --neurons 65536 --time-steps 8,32,128 --chart lif.svg" => "the three orders of LIF, as a table and a bar chart",
    "spikelet bench neuron --neuron plif --propagation layer-by-layer" => "the multi-step passes alone",
    "spikelet bench neuron --all --time-steps 16" => "all neurons, each with its own surrogate",
    "spikelet bench neuron --threads 1 --json" => "one thread, as JSON",
])]
pub struct Neuron {
    /// Neuron model
    #[arg(long = "neuron", help_heading = "Neuron", value_name = "NEURON", default_value = "lif", value_parser = neuron_names())]
    name: String,

    /// Measure all neurons, layer by layer unless --propagation is given
    #[arg(hide_short_help = true, long, help_heading = "Neuron", conflicts_with_all = ["name", "set", "surrogate", "reset_grad"])]
    all: bool,

    #[command(flatten)]
    neuron: NeuronArgs,

    /// Number of time steps; several, separated by commas
    #[arg(help_heading = "Size", long, value_name = "T", default_value = "32", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    time_steps: Vec<u32>,

    /// Number of neurons
    #[arg(help_heading = "Size", long, value_name = "N", default_value_t = 1 << 18, value_parser = clap::value_parser!(u32).range(1..))]
    neurons: u32,

    /// Number type of sequences: f32, bf16, f16 or f64; several, separated by commas
    #[arg(help_heading = "Size", long, value_name = "TYPE", default_value = "f32", value_delimiter = ',', value_parser = dtype)]
    dtype: Vec<DType>,

    /// Execution order of time steps and kernels; several, separated by commas [default: all]
    #[arg(help_heading = "Size", long, value_name = "ORDER", value_delimiter = ',', value_parser = words::<Propagation>())]
    propagation: Vec<Propagation>,

    /// Write a bar chart of the times: .svg
    #[arg(long, help_heading = "Output", value_name = "FILE", conflicts_with = "all", value_parser = svg_path())]
    chart: Option<PathBuf>,

    #[command(flatten)]
    repeats: Repeats,

    #[command(flatten)]
    device: DeviceArgs,
}

/// The default surrogate.
const SURROGATE: &str = "atan";

/// The largest copy; the bandwidth of larger ones is the same.
const LARGEST_COPY: u64 = 1 << 30;

/// A neuron that is measured.
struct Chosen {
    name: String,
    neuron: Arc<dyn spikelet::neuron::Neuron>,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
struct Row {
    time_steps: u32,
    dtype: DType,
    propagation: Propagation,
}

impl Row {
    /// `lif_forward_step_by_step`; the multi-step passes have no addition.
    fn name(&self, neuron: &str, backward: bool) -> String {
        let pass = if backward {
            "forward_backward"
        } else {
            "forward"
        };
        match self.propagation {
            Propagation::LayerByLayer => format!("{neuron}_{pass}"),
            other => format!("{neuron}_{pass}_{}", other.name().replace('-', "_")),
        }
    }

    /// The key of this measurement among all.
    fn key(&self, neuron: &str, backward: bool) -> String {
        let Self {
            time_steps, dtype, ..
        } = self;
        format!("{}/{time_steps}/{dtype}", self.name(neuron, backward))
    }
}

impl Neuron {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let chosen = self.chosen()?;
        if let Some(key) = &self.repeats.only {
            console.say_json(&self.measure(key, &chosen)?.json());
            return Ok(ExitCode::SUCCESS);
        }
        let backend = self.device.open()?;
        self.check_size(&*backend)?;
        let mut chart = Chart::default();
        let what = match &chosen[..] {
            [one] => {
                let surrogate = one.neuron.common().surrogate.spec();
                format!("{} ({})", one.name, value::text(&surrogate))
            }
            all => format!("{} neurons", all.len()),
        };
        console.say(format!(
            "{what} · N={} · {}",
            thousands(u64::from(self.neurons)),
            self.device.describe(&*backend),
        ));
        let copy = measured(&*backend, COPY, || self.measure(COPY, &chosen))?;
        let copy_speed = self.copy().say(&copy, console);
        let head = [
            "neuron", "T", "type", "order", "pass", "kernels", "moved", "ms", "GB/s", "of copy",
            "peak",
        ];
        // One neuron is named above.
        let first = usize::from(!self.all);
        let numbers = [1, 5, 6, 7, 8, 9, 10].map(|column| column - first);
        let mut table = Table::new(&head[first..]).right(&numbers);
        for one in &chosen {
            for row in self.rows() {
                for backward in [false, true] {
                    let made = self.line(one, row, backward, &backend, copy_speed, console)?;
                    let (cells, ms) = made;
                    let pass = if backward {
                        "forward + backward"
                    } else {
                        "forward"
                    };
                    chart.add(
                        &format!("{pass}, {}", row.dtype),
                        row.time_steps,
                        row.propagation,
                        ms,
                    );
                    let named = std::iter::once(one.name.clone()).skip(first);
                    table.row(named.chain(cells));
                }
            }
        }
        say_table(console, &table);
        if let Some(path) = &self.chart {
            let neurons = thousands(u64::from(self.neurons));
            let title = format!("{what}, N = {neurons}");
            chart.save(&title, &self.device.describe(&*backend), path)?;
            console.say(format!("chart: {}", path.display()));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The neurons that are measured.
    fn chosen(&self) -> Result<Vec<Chosen>, Failure> {
        let built = |name: &str, neuron| Chosen {
            name: name.to_string(),
            neuron,
        };
        if !self.all {
            let neuron = self.neuron.build_over(&self.name, SURROGATE)?;
            return Ok(vec![built(&self.name, neuron)]);
        }
        let names = spikelet::neuron::NEURONS.names();
        let all = names.map(|name| Ok(built(name, self.neuron.build(name)?)));
        all.collect()
    }

    /// Measures one pass of a neuron; returns the cells of its row, and the time if it ran.
    fn line(
        &self,
        one: &Chosen,
        row: Row,
        backward: bool,
        backend: &Arc<dyn Backend>,
        copy_speed: f64,
        console: &Console,
    ) -> Result<(Vec<String>, Option<f64>), Failure> {
        let head = [
            row.time_steps.to_string(),
            row.dtype.to_string(),
            row.propagation.to_string(),
            if backward { "+ backward" } else { "forward" }.to_string(),
        ];
        let refused = |problem: String| Ok(([&head[..], &[problem]].concat(), None));
        if row.propagation.is_step_by_step() && is_parallel(&*one.neuron) {
            return refused("needs all time steps at once".to_string());
        }
        let traced = self.passes(row, &one.neuron, backward).trace()?;
        let plan = Plan::new(traced.graph, &**backend);
        let moved = plan.moved_bytes();
        let cost = [plan.kernel_runs().to_string(), bytes(moved)];
        if let Some(free) = too_large(&plan, &**backend) {
            let needed = bytes(plan.peak_bytes() as u64);
            return refused(format!(
                "{}: needs {needed} of {free}",
                cost.join(" kernels, ")
            ));
        }
        let key = row.key(&one.name, backward);
        let here = || self.measure(&key, std::slice::from_ref(one));
        let found = measured(&**backend, &key, here)?;
        let speed = found.speed(moved);
        let mut line = found.json();
        line["name"] = json!(row.name(&one.name, backward));
        line["time_steps"] = json!(row.time_steps);
        line["neurons"] = json!(self.neurons);
        line["dtype"] = json!(row.dtype.to_string());
        line["propagation"] = json!(row.propagation);
        line["kernels"] = json!(plan.kernel_runs());
        line["bytes"] = json!(moved);
        line["gb_per_second"] = json!(speed / 1e9);
        line["copy_share"] = json!(speed / copy_speed);
        line["plan_peak_bytes"] = json!(plan.peak_bytes());
        console.say_json(&line);
        let numbers = [
            format!("{:.3}", found.median_ms),
            format!("{:.1}", speed / 1e9),
            format!("{:.0} %", 100.0 * speed / copy_speed),
            peak(&found, &plan, &**backend),
        ];
        Ok(([&head[..], &cost, &numbers].concat(), Some(found.median_ms)))
    }

    fn rows(&self) -> Vec<Row> {
        let mut rows = vec![];
        for &dtype in &self.dtype {
            for &time_steps in &self.time_steps {
                // From the slowest to the fastest.
                for propagation in Propagation::ALL.into_iter().rev() {
                    let usual = !self.all || !propagation.is_step_by_step();
                    let wanted = match &self.propagation[..] {
                        [] => usual,
                        named => named.contains(&propagation),
                    };
                    if wanted {
                        rows.push(Row {
                            time_steps,
                            dtype,
                            propagation,
                        });
                    }
                }
            }
        }
        rows
    }

    fn passes<'a>(
        &self,
        row: Row,
        neuron: &'a Arc<dyn spikelet::neuron::Neuron>,
        backward: bool,
    ) -> Passes<'a> {
        Passes {
            module: neuron,
            propagation: row.propagation,
            dtype: row.dtype,
            precision: Precision::F32,
            time_steps: row.time_steps as usize,
            step: vec![self.neurons as usize],
            backward: if backward {
                Backward::All
            } else {
                Backward::None
            },
        }
    }

    /// Bytes of the largest sequence.
    fn largest(&self) -> u64 {
        let steps = self.time_steps.iter().copied().max().unwrap_or(1);
        let size = self.dtype.iter().map(|&d| TensorType::new(d, []).bytes());
        let elements = u64::from(steps) * u64::from(self.neurons);
        elements.saturating_mul(size.max().unwrap_or(1) as u64)
    }

    fn copy(&self) -> Copy {
        Copy {
            bytes: self.largest().clamp(4, LARGEST_COPY) / 4 * 4,
            threads: self.device.threads,
        }
    }

    /// Checks that the machine has memory for the sequences.
    fn check_size(&self, backend: &dyn Backend) -> Result<(), Failure> {
        let needed = self.largest().saturating_mul(4);
        match machine::memory() {
            Some((_, free)) if is_cpu(backend) && needed > free => Err(Failure::argument(
                format!(
                    "sequences of {} neurons need {}, {} are available",
                    self.neurons,
                    bytes(needed),
                    bytes(free),
                ),
                "use fewer --neurons or --time-steps",
            )),
            _ => Ok(()),
        }
    }

    /// The measurement of this key.
    fn measure(&self, key: &str, chosen: &[Chosen]) -> Result<Measurement, Failure> {
        let backend = self.device.open()?;
        if key == COPY {
            return self.copy().measure(&backend, &self.repeats);
        }
        let of_neuron = |one| {
            let rows = self.rows().into_iter();
            rows.flat_map(move |row| [(one, row, false), (one, row, true)])
        };
        let found = (chosen.iter().flat_map(of_neuron))
            .find(|(one, row, backward)| row.key(&one.name, *backward) == key);
        let (one, row, backward) = found.ok_or_else(|| {
            Failure::argument(
                format!("there is no measurement `{key}`"),
                "leave out --only",
            )
        })?;
        let mut store = VarStore::new(backend.clone());
        let passes = self.passes(row, &one.neuron, backward);
        let mut program = passes.compile(&mut store)?;
        let wait = || Ok(backend.synchronize()?);
        self.repeats.measure(key, wait, || Ok(program.run()?))
    }
}

/// The free memory, if it is less than a plan needs.
fn too_large(plan: &Plan, backend: &dyn Backend) -> Option<String> {
    let (_, free) = machine::memory().filter(|_| is_cpu(backend))?;
    (plan.peak_bytes() as u64 > free).then(|| bytes(free))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use spikelet::graph::op::Operation;

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        bench: Neuron,
    }

    #[test]
    fn the_passes_have_only_the_kernels_of_the_neuron() {
        let words = [
            "bench",
            "--time-steps",
            "4",
            "--neurons",
            "1024",
            "--threads",
            "1",
        ];
        let bench = Words::parse_from(words).bench;
        let neuron = bench.neuron.build_over("lif", SURROGATE).expect("known");
        let backend = bench.device.open().expect("the CPU");
        let kernels = |propagation, backward| -> (Vec<String>, u64) {
            let row = Row {
                time_steps: 4,
                dtype: DType::F32,
                propagation,
            };
            let graph = bench.passes(row, &neuron, backward).trace().expect("sound");
            let plan = Plan::new(graph.graph, &*backend);
            // Step by step, the kernels are those of a step; a loop also copies its states.
            let bodies = plan.kernels.iter().filter_map(|k| k.body.as_deref());
            let all = std::iter::once(&plan).chain(bodies).flat_map(|plan| {
                let large = plan.kernels.iter().filter(|k| k.bytes > 4096);
                large.map(|k| (plan.graph.nodes[k.node].op.name(), k.bytes))
            });
            let own = all.filter(|(name, _)| !["loop", "expand"].contains(&name.as_str()));
            let (names, bytes): (Vec<String>, Vec<u64>) = own.unzip();
            (names, bytes.iter().sum())
        };
        // Of 4096 elements; 4 bytes more are the reset value, a scalar.
        let (names, bytes) = kernels(Propagation::LayerByLayer, false);
        assert_eq!((names, bytes), (vec!["lif".to_string()], 8 * 4096 + 4));
        let (names, bytes) = kernels(Propagation::LayerByLayer, true);
        assert_eq!(names, ["lif", "lif_grad"]);
        assert_eq!(bytes, 20 * 4096 + 8);
        let (names, _) = kernels(Propagation::StepByStep, true);
        assert_eq!(names, ["lif", "lif_grad"]);
        let (names, _) = kernels(Propagation::StepByStepUnfused, false);
        assert_eq!(names, ["map"; 3]);
    }
}
