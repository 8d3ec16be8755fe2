//! `spikelet bench neuron`

use super::measure::{Measurement, Repeats};
use crate::args::{DeviceArgs, NeuronArgs, neuron_names, value};
use crate::command::{examples, say_table};
use crate::failure::Failure;
use crate::machine;
use crate::table::Table;
use rayon::prelude::*;
use serde_json::json;
use spikelet::graph::op::{HostTensor, ScanGrad};
use spikelet::graph::{DType, Graph, Tensor, Var};
use spikelet::log::Console;
use spikelet::log::console::{bytes, thousands};
use spikelet::model::{Compiled, Store};
use spikelet::module::{Context, Mode};
use spikelet::neuron::{self, derive};
use std::process::ExitCode;
use std::sync::Arc;

/// Measure a neuron's multi-step passes, and a plain copy of memory to compare with
///
/// Forward reads x_seq and writes spike_seq: 8 bytes an element in f32. Forward and backward, as
/// in a training step, read x_seq, write spike_seq, read grad_spike_seq and x_seq, write
/// grad_x_seq: 20 bytes an element. The last column is the time over that of a copy of as many
/// bytes by the same number of threads: 1.0 is as fast as memory allows.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet bench neuron" => "LIF with the arc tangent, 32 steps, 262,144 neurons",
    "spikelet bench neuron --neuron plif --time-steps 4 --neurons 2097152" => "few steps, many neurons",
    "spikelet bench neuron --threads 1 --json" => "one thread, for machines",
])]
pub struct Neuron {
    /// The neuron
    #[arg(long = "neuron", help_heading = "Neuron", value_name = "NEURON", default_value = "lif", value_parser = neuron_names())]
    name: String,

    #[command(flatten)]
    neuron: NeuronArgs,

    /// Steps of the sequence
    #[arg(help_heading = "Size", long, value_name = "T", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..))]
    time_steps: u32,

    /// Neurons
    #[arg(help_heading = "Size", long, value_name = "N", default_value_t = 1 << 18, value_parser = clap::value_parser!(u32).range(1..))]
    neurons: u32,

    /// Number type
    #[arg(help_heading = "Size", long, value_name = "TYPE", default_value = "f32", value_parser = ["f32", "f64"])]
    dtype: String,

    #[command(flatten)]
    repeats: Repeats,

    #[command(flatten)]
    device: DeviceArgs,
}

/// The surrogate that is measured unless another one is named.
const SURROGATE: &str = "atan";

const COPY: &str = "copy";

impl Neuron {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let neuron = self.neuron.build_over(&self.name, SURROGATE)?;
        if let Some(name) = &self.repeats.only {
            console.say_json(&self.measure(name, &*neuron)?.json());
            return Ok(ExitCode::SUCCESS);
        }
        self.check_size()?;
        let threads = self.pool()?.current_num_threads();
        let backend = self.device.open()?;
        console.say(format!(
            "{} ({}) · T={}, N={}, {} · {}, {threads} threads, {} · median of {}",
            self.name,
            value::text(&neuron.common().surrogate.spec()),
            self.time_steps,
            thousands(u64::from(self.neurons)),
            self.dtype,
            backend.name(),
            spikelet_cpu::Cpu::instructions(),
            self.repeats.repeats,
        ));
        drop(backend);

        let works = [
            (self.forward_name(), 2),
            (self.both_name(), 5),
            (COPY.to_string(), 2),
        ];
        let mut found = vec![];
        for (name, moved) in works {
            found.push((
                Measurement::in_own_process(&name)?,
                self.elements() * self.size() * moved,
            ));
        }
        let copy_speed = found
            .last()
            .map_or(f64::NAN, |(copy, bytes)| speed(copy, *bytes));
        let mut table = Table::new(&["", "ms", "GB/s", "× copy", "peak"]).right(&[1, 2, 3, 4]);
        for (one, moved) in &found {
            let speed = speed(one, *moved);
            let mut line = one.json();
            line["bytes"] = json!(moved);
            line["copy_ratio"] = json!(copy_speed / speed);
            console.say_json(&line);
            let peak = one.peak_mib.map_or("–".to_string(), |mib| {
                bytes((mib * 1024.0 * 1024.0) as u64)
            });
            let numbers = [
                format!("{:.3}", one.median_ms),
                format!("{:.1}", speed / 1e9),
                format!("{:.2}", copy_speed / speed),
            ];
            table.row([one.name.clone()].into_iter().chain(numbers).chain([peak]));
        }
        say_table(console, &table);
        Ok(ExitCode::SUCCESS)
    }

    fn forward_name(&self) -> String {
        format!("{}_forward", self.name)
    }

    fn both_name(&self) -> String {
        format!("{}_forward_backward", self.name)
    }

    fn dtype(&self) -> DType {
        if self.dtype == "f64" {
            DType::F64
        } else {
            DType::F32
        }
    }

    /// Bytes of an element.
    fn size(&self) -> u64 {
        if self.dtype == "f64" { 8 } else { 4 }
    }

    fn elements(&self) -> u64 {
        u64::from(self.time_steps) * u64::from(self.neurons)
    }

    fn pool(&self) -> Result<rayon::ThreadPool, Failure> {
        rayon::ThreadPoolBuilder::new()
            .num_threads(self.device.threads)
            .build()
            .map_err(|e| {
                Failure::other(
                    format!("cannot start the threads: {e}"),
                    "use fewer --threads",
                )
            })
    }

    /// Refuses what the machine cannot hold.
    fn check_size(&self) -> Result<(), Failure> {
        let needed = u128::from(self.elements()) * u128::from(self.size()) * 4;
        match machine::memory() {
            Some((_, free)) if needed > u128::from(free) => Err(Failure::argument(
                format!(
                    "{} steps of {} neurons need {}, {} are available",
                    self.time_steps,
                    self.neurons,
                    bytes(u64::try_from(needed).unwrap_or(u64::MAX)),
                    bytes(free),
                ),
                "use fewer --neurons or --time-steps",
            )),
            _ => Ok(()),
        }
    }

    fn measure(&self, name: &str, neuron: &dyn neuron::Neuron) -> Result<Measurement, Failure> {
        if name == COPY {
            return self.measure_copy();
        }
        let mut store = Store::new(self.device.open()?);
        let mut program = self.program(neuron, name == self.both_name(), &mut store)?;
        self.repeats.measure(name, || Ok(program.run()?))
    }

    /// A copy of as many bytes as the forward pass moves, in pieces that threads take in turn.
    fn measure_copy(&self) -> Result<Measurement, Failure> {
        const PIECE: usize = 1 << 17;
        let words = (self.elements() * self.size() / 4) as usize;
        let (from, mut to) = (vec![1_u32; words], vec![0_u32; words]);
        let pool = self.pool()?;
        self.repeats.measure(COPY, || {
            pool.install(|| {
                let pieces = to.par_chunks_mut(PIECE).zip(from.par_chunks(PIECE));
                pieces.for_each(|(to, from)| to.copy_from_slice(from));
            });
            Ok(())
        })
    }

    /// The passes, ready to run on random input.
    fn program(
        &self,
        neuron: &dyn neuron::Neuron,
        backward: bool,
        store: &mut Store,
    ) -> Result<Compiled, Failure> {
        let names: &[&str] = if backward {
            &["x_seq", "grad_spike_seq"]
        } else {
            &["x_seq"]
        };
        for (k, name) in names.iter().enumerate() {
            self.fill(name, k as i64, store)?;
        }
        for param in neuron.params() {
            let value = Tensor::f32([], [param.init as f32]).cast(self.dtype());
            store.set(param.name, &value)?;
        }
        let program = Compiled::new(self.trace(neuron, backward)?, store)?;
        if program.has_input(GENERATOR) {
            program.set(GENERATOR, HostTensor::I64(&[0, 1, 0]))?;
        }
        Ok(program)
    }

    fn shape(&self) -> [usize; 2] {
        [self.time_steps as usize, self.neurons as usize]
    }

    /// Draws a tensor of the store on the device, uniform on (0, 1].
    fn fill(&self, name: &str, seed: i64, store: &mut Store) -> Result<(), Failure> {
        let cx = Context::new(Mode::EVAL, self.dtype());
        let tensor = cx.tracer().state(name, self.shape());
        let drawn = cx.generator().uniform(self.shape(), false);
        cx.tracer().update(&tensor, &drawn);
        let mut program = Compiled::new(cx.tracer().finish()?, store)?;
        program.set(GENERATOR, HostTensor::I64(&[seed, 0, 0]))?;
        Ok(program.run()?)
    }

    /// One call of the neuron from its reset values. The sequences are tensors of the store, so
    /// that they are drawn where they are needed and nothing else counts for the peak.
    fn trace(&self, neuron: &dyn neuron::Neuron, backward: bool) -> Result<Graph, Failure> {
        let cx = Context::new(Mode::EVAL, self.dtype());
        let tracer = cx.tracer();
        let step = derive(neuron)
            .map_err(|p| Failure::argument(p, "choose another surrogate or reset gradient"))?;
        let x = tracer.state("x_seq", self.shape());
        let states: Vec<Var> = neuron
            .states()
            .iter()
            .map(|s| tracer.fill(self.dtype(), [], s.reset))
            .collect();
        let params: Vec<Var> = neuron
            .params()
            .iter()
            .map(|p| tracer.parameter(p.name, []))
            .collect();
        let mut sequences = vec![x.clone()];
        if step.inputs.len() > 1 {
            sequences.push(cx.generator().uniform(self.shape(), true));
        }
        let (sequences, states): (Vec<&Var>, Vec<&Var>) =
            (sequences.iter().collect(), states.iter().collect());
        let params: Vec<&Var> = params.iter().collect();
        let step = Arc::new(step);
        let made = Var::scan(&step, self.shape()[0], &sequences, &states, &params);
        tracer.check()?;
        tracer.output("spike_seq", &made[0]);
        if backward {
            // The gradient of the spikes is given, as the next layer's backward pass gives it.
            let grad_spike_seq = tracer.state("grad_spike_seq", self.shape());
            let mut pass = ScanGrad::new(step, self.shape()[0]);
            pass.present[0] = true;
            let operands = [&sequences[..], &states[..], &params[..], &[&grad_spike_seq]].concat();
            let grads = tracer.apply(pass, &operands);
            tracer.check()?;
            tracer.output("grad_x_seq", &grads[0]);
            let of_params = grads[sequences.len() + states.len()..].iter();
            for (param, grad) in neuron.params().iter().zip(of_params) {
                tracer.output(&format!("grad_{}", param.name), &grad.sum_all());
            }
        }
        Ok(tracer.finish()?)
    }
}

/// The generator's state among a program's inputs.
const GENERATOR: &str = "generator";

fn speed(one: &Measurement, bytes: u64) -> f64 {
    bytes as f64 / (one.median_ms / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use spikelet::graph::Plan;
    use spikelet::graph::op::Operation;

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        bench: Neuron,
    }

    #[test]
    fn the_passes_are_the_neurons_kernels_and_nothing_else() {
        let words = Words::parse_from([
            "bench",
            "--time-steps",
            "4",
            "--neurons",
            "1024",
            "--threads",
            "1",
        ]);
        let neuron = words
            .bench
            .neuron
            .build_over("lif", SURROGATE)
            .expect("known");
        let backend = words.bench.device.open().expect("the CPU");
        for (backward, expected) in [(false, vec!["lif"]), (true, vec!["lif", "lif_grad"])] {
            let graph = words.bench.trace(&*neuron, backward).expect("sound");
            let plan = Plan::new(graph, &*backend);
            let whole = plan.kernels.iter().filter(|k| k.bytes > 4096);
            let names: Vec<String> = whole.map(|k| plan.graph.nodes[k.node].op.name()).collect();
            assert_eq!(names, expected, "{plan}");
            assert!(plan.arena_bytes < 64 * 1024, "{plan}");
        }
    }
}
