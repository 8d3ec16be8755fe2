//! The options of the program.

use spikelet::suggest::closest;
use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

pub const HELP: &str = "\
Trains the network of Diehl and Cook (2015) by STDP, without labels, and measures its accuracy.

usage: cargo run --release --example diehl_cook -- [options]

  --data FOLDER        folder with MNIST's four IDX files, or with a subfolder of them; digits are generated without it
  --neurons N          excitatory neurons, and as many inhibitory ones (400)
  --images N           training images of a pass, the first ones of the data set (10000; at most all)
  --passes N           passes over them (1)
  --batch-size N       images shown at once in training; changes of weights and thresholds are summed over them (1)
  --label-images N     training images that assign classes to neurons after training (as --images)
  --test-images N      test images (all)
  --seed N             seed of initial weights, input spikes and generated digits (0)
  --device NAME        auto, cpu, cuda or cuda:1 (auto)
  --threads N          threads of the CPU; 0 for all cores (1: the work of a step is too small to divide)
  --checkpoint FOLDER  folder of the state, from which a killed run continues with the same results
  --save-every N       images between two states (1000)
  --json               a JSON object on each line
  --help               this text

examples:
  cargo run --release --example diehl_cook
  cargo run --release --example diehl_cook -- --data data --images 60000 --checkpoint runs/diehl-cook
  cargo run --release --example diehl_cook -- --data data --neurons 1600 --batch-size 16 --device cuda
";

const NAMES: [&str; 14] = [
    "--data",
    "--neurons",
    "--images",
    "--passes",
    "--batch-size",
    "--label-images",
    "--test-images",
    "--seed",
    "--device",
    "--threads",
    "--checkpoint",
    "--save-every",
    "--json",
    "--help",
];

#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    pub data: Option<PathBuf>,
    pub neurons: usize,
    pub images: usize,
    pub passes: usize,
    pub batch_size: usize,
    pub label_images: Option<usize>,
    pub test_images: usize,
    pub seed: u64,
    pub device: String,
    pub threads: usize,
    pub checkpoint: Option<PathBuf>,
    pub save_every: usize,
    pub json: bool,
    pub help: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            data: None,
            neurons: 400,
            images: 10_000,
            passes: 1,
            batch_size: 1,
            label_images: None,
            test_images: usize::MAX,
            seed: 0,
            device: "auto".to_string(),
            threads: 1,
            checkpoint: None,
            save_every: 1000,
            json: false,
            help: false,
        }
    }
}

impl Options {
    /// Reads the words behind the name of the program.
    pub fn parse(words: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut options = Self::default();
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let (name, given) = match word.split_once('=') {
                Some((name, value)) => (name.to_string(), Some(value.to_string())),
                None => (word, None),
            };
            if !NAMES.contains(&name.as_str()) {
                let known = closest(&name, NAMES).map(|n| format!("; did you mean {n}?"));
                let known = known.unwrap_or_default();
                return Err(format!(
                    "there is no option {name}{known}\n  help: --help lists all options"
                ));
            }
            match name.as_str() {
                "--json" => options.json = true,
                "--help" => options.help = true,
                _ => {
                    let value = given.or_else(|| words.next());
                    let value = value.ok_or_else(|| format!("{name} has no value"))?;
                    options.set(&name, &value)?;
                }
            }
        }
        Ok(options)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "--data" => self.data = Some(value.into()),
            "--neurons" => self.neurons = number(name, value, [2, 1_000_000])?,
            "--images" => self.images = number(name, value, [1, usize::MAX])?,
            "--passes" => self.passes = number(name, value, [1, 1_000_000])?,
            "--batch-size" => self.batch_size = number(name, value, [1, 10_000])?,
            "--label-images" => self.label_images = Some(number(name, value, [1, usize::MAX])?),
            "--test-images" => self.test_images = number(name, value, [1, usize::MAX])?,
            "--seed" => self.seed = number(name, value, [0, u64::MAX])?,
            "--device" => self.device = value.to_string(),
            "--threads" => self.threads = number(name, value, [0, 10_000])?,
            "--checkpoint" => self.checkpoint = Some(value.into()),
            _ => self.save_every = number(name, value, [1, usize::MAX])?,
        }
        Ok(())
    }

    /// What a state must have been written with, so that a run continues from it.
    pub fn identity(&self) -> String {
        format!(
            "--neurons {} --images {} --passes {} --batch-size {} --label-images {} --test-images {} --seed {}",
            self.neurons,
            self.images,
            self.passes,
            self.batch_size,
            self.label_images.unwrap_or(self.images),
            self.test_images,
            self.seed
        )
    }
}

fn number<T: FromStr + PartialOrd + Display>(
    name: &str,
    text: &str,
    [least, most]: [T; 2],
) -> Result<T, String> {
    match text.parse() {
        Ok(number) if number >= least && number <= most => Ok(number),
        _ => Err(format!(
            "{name} is {text}; give a whole number from {least} to {most}"
        )),
    }
}
