//! The options of the program.

use crate::tasks::Task;
use spikelet::learning::EpropFeedback;
use spikelet::suggest::closest;
use std::fmt::Display;
use std::str::FromStr;

pub const HELP: &str = "\
Trains a recurrent network by back-propagation through time, by e-prop in batches and by e-prop online.

usage: cargo run --release --example eprop -- [options]

  --task NAME        pattern: three sums of sines, from a clock; evidence: which side had more cues (pattern)
  --neurons N        recurrent neurons (100)
  --iterations N     batches (pattern: 500; evidence: 200)
  --time-steps N     of pattern (1000); evidence has 340
  --batch-size N     of evidence (32); pattern has one sequence
  --rate X           learning rate of Adam (pattern: 0.005; evidence: 0.003)
  --feedback NAME    symmetric, random or adaptive, of both forms of e-prop (symmetric)
  --seed N           seed of weights and data (0)
  --device NAME      auto, cpu, cuda or cuda:1 (auto)
  --memory           the memory of a step for 100, 1,000 and 10,000 time steps, without training
  --json             a JSON object on each line
  --help             this text

examples:
  cargo run --release --example eprop
  cargo run --release --example eprop -- --task evidence --feedback random
  cargo run --release --example eprop -- --memory --device cpu
";

const NAMES: [&str; 11] = [
    "--task",
    "--neurons",
    "--iterations",
    "--time-steps",
    "--batch-size",
    "--rate",
    "--feedback",
    "--seed",
    "--device",
    "--memory",
    "--json",
];

#[derive(Clone, Debug)]
pub struct Options {
    pub task: Task,
    pub neurons: usize,
    pub iterations: u64,
    pub rate: f64,
    pub feedback: EpropFeedback,
    pub seed: u64,
    pub device: String,
    pub memory: bool,
    pub json: bool,
    pub help: bool,
}

impl Options {
    /// Reads the words behind the program's name.
    pub fn parse(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let words: Vec<String> = words.collect();
        let task = words.iter().position(|word| word == "--task");
        let task = match task.map(|k| words.get(k + 1).map(String::as_str)) {
            None | Some(Some("pattern")) => Task::pattern(),
            Some(Some("evidence")) => Task::evidence(),
            Some(other) => {
                let given = other.unwrap_or("missing");
                return Err(format!("--task is {given}; give pattern or evidence"));
            }
        };
        let is_pattern = task == Task::pattern();
        let mut options = Self {
            neurons: 100,
            iterations: if is_pattern { 500 } else { 200 },
            rate: if is_pattern { 5e-3 } else { 3e-3 },
            task,
            feedback: EpropFeedback::Symmetric,
            seed: 0,
            device: "auto".to_string(),
            memory: false,
            json: false,
            help: false,
        };
        let mut words = words.into_iter();
        while let Some(option) = words.next() {
            match option.as_str() {
                "--help" | "-h" => options.help = true,
                "--memory" => options.memory = true,
                "--json" => options.json = true,
                _ => {
                    let unknown = || {
                        let known = closest(&option, NAMES);
                        let hint = known.map_or(String::new(), |name| format!("; {name}?"));
                        format!("there is no option {option}{hint}")
                    };
                    if !NAMES.contains(&option.as_str()) {
                        return Err(unknown());
                    }
                    let value = words
                        .next()
                        .ok_or_else(|| format!("{option} has no value"))?;
                    options.set(&option, &value)?;
                }
            }
        }
        Ok(options)
    }

    fn set(&mut self, option: &str, value: &str) -> Result<(), String> {
        match option {
            "--neurons" => self.neurons = number(option, value, 1, 100_000)?,
            "--iterations" => self.iterations = number(option, value, 1, u64::from(u32::MAX))?,
            "--rate" => self.rate = number(option, value, 0.0, 1.0)?,
            "--seed" => self.seed = number(option, value, 0, u64::MAX)?,
            "--device" => self.device = value.to_string(),
            "--time-steps" if self.task == Task::evidence() => {
                return Err("--time-steps is an option of pattern".to_string());
            }
            "--time-steps" => {
                let time_steps = number(option, value, 5, 1_000_000)?;
                self.task = self.task.clone().time_steps(time_steps);
            }
            "--batch-size" if self.task.is_pattern() => {
                return Err("--batch-size is an option of evidence".to_string());
            }
            "--batch-size" => self.task.batch_size = number(option, value, 1, 100_000)?,
            "--feedback" => {
                self.feedback = match value {
                    "symmetric" => EpropFeedback::Symmetric,
                    "random" => EpropFeedback::Random,
                    "adaptive" => EpropFeedback::Adaptive,
                    _ => {
                        return Err(format!(
                            "--feedback is {value}; give symmetric, random or adaptive"
                        ));
                    }
                }
            }
            // The task is known.
            _ => {}
        }
        Ok(())
    }
}

fn number<T: FromStr + PartialOrd + Display>(
    option: &str,
    text: &str,
    low: T,
    high: T,
) -> Result<T, String> {
    let parsed = text.parse().ok().filter(|n| (&low..=&high).contains(&n));
    parsed.ok_or_else(|| format!("{option} is {text}; give a number from {low} to {high}"))
}
