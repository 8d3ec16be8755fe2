//! Trains a network with exact spike times on digits whose pixels are spikes, the brighter the earlier, by EventProp:
//! `[--data DIR] [--epochs 10] [--hidden 350] [--batch 64] [--rate 0.006] [--train N] [--seed 0] [--state FILE] [--json]`.
//!
//! DIR has MNIST; without it the digits are generated. Every tenth training image is left out of training and selects
//! the epoch whose weights are tested at the end; the test images are read once. After each epoch the state file is
//! replaced; a killed program continues from it when it is started again with the same options.

use spikelet::data::{Dataset, image_shape};
use spikelet::eventprop::{
    Adam, CrossEntropy, Functional, LifLayer, Network, Readout, Rules, SilentPush, SpikeTrain,
    TimeConstants, Weights,
};
use spikelet::graph::Tensor;
use spikelet::tensors::TensorFile;
use spikelet_random::{Generator, Stream};
use std::error::Error;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Instant;

/// Times in ms.
const TAU: TimeConstants = TimeConstants {
    tau_m: 20.0,
    tau_s: 5.0,
};
const T_END: f64 = 25.0;
/// A white pixel fires at 0, the darkest gray at this time, a black pixel never.
const LATEST: f64 = 20.0;
const CLASSES: usize = 10;

struct Options {
    data: Option<PathBuf>,
    epochs: u64,
    hidden: usize,
    batch: usize,
    rate: f64,
    train: usize,
    seed: u64,
    state: Option<PathBuf>,
    json: bool,
}

impl Options {
    fn read() -> Result<Self, Box<dyn Error>> {
        let mut options = Self {
            data: None,
            epochs: 10,
            hidden: 350,
            batch: 64,
            rate: 6e-3,
            train: usize::MAX,
            seed: 0,
            state: None,
            json: false,
        };
        let mut words = std::env::args().skip(1);
        while let Some(option) = words.next() {
            if option == "--json" {
                options.json = true;
                continue;
            }
            let value = words
                .next()
                .ok_or_else(|| format!("{option} has no value"))?;
            match option.as_str() {
                "--data" => options.data = Some(value.into()),
                "--epochs" => options.epochs = number(&option, &value)?,
                "--hidden" => options.hidden = number(&option, &value)?,
                "--batch" => options.batch = number::<usize>(&option, &value)?.max(1),
                "--rate" => options.rate = number(&option, &value)?,
                "--train" => options.train = number(&option, &value)?,
                "--seed" => options.seed = number(&option, &value)?,
                "--state" => options.state = Some(value.into()),
                _ => {
                    return Err(format!(
                        "there is no option {option}; see the head of examples/eventprop.rs"
                    )
                    .into());
                }
            }
        }
        Ok(options)
    }

    /// The options with which a state file must have been written.
    fn text(&self) -> String {
        format!(
            "epochs {}, hidden {}, batch {}, rate {}, train {}, seed {}, data {:?}",
            self.epochs, self.hidden, self.batch, self.rate, self.train, self.seed, self.data
        )
    }
}

fn number<T: FromStr>(option: &str, text: &str) -> Result<T, String> {
    text.parse()
        .map_err(|_| format!("{option} is {text}; give a number"))
}

/// Images as spikes, with their labels.
struct Digits {
    samples: Vec<SpikeTrain>,
    labels: Vec<usize>,
}

impl Digits {
    fn new(images: &dyn Dataset, most: usize) -> spikelet::data::Result<Self> {
        let count = images.len().min(most);
        let encoded = |k| {
            let sample = images.sample(k)?;
            let pixels = sample.require("images")?.as_u8();
            Ok(latency_code(pixels.unwrap_or_default()))
        };
        let labels = images.labels()?.into_iter().take(count);
        Ok(Self {
            samples: (0..count)
                .map(encoded)
                .collect::<spikelet::data::Result<_>>()?,
            labels: labels.map(|label| label as usize).collect(),
        })
    }

    fn accuracy(&self, network: &Network) -> Result<f64, Box<dyn Error>> {
        let mut correct = 0;
        for (samples, labels) in self.samples.chunks(500).zip(self.labels.chunks(500)) {
            let traces = network.forward(samples)?;
            let hits = traces
                .iter()
                .zip(labels)
                .filter(|(trace, label)| trace.prediction() == Some(**label));
            correct += hits.count();
        }
        Ok(correct as f64 / self.samples.len().max(1) as f64)
    }
}

/// A spike for each pixel that is not black, and one at 0 of an input behind the pixels, a bias.
fn latency_code(pixels: &[u8]) -> SpikeTrain {
    let lit = pixels.iter().enumerate().filter(|(_, pixel)| **pixel > 0);
    let spikes = lit.map(|(unit, &pixel)| (LATEST * (1.0 - f64::from(pixel) / 255.0), unit));
    SpikeTrain::new(spikes.chain([(0.0, pixels.len())]))
}

/// What training continues from.
struct State {
    network: Network,
    best: Network,
    adam: Adam,
    epoch: u64,
    best_epoch: u64,
    best_accuracy: f64,
    seconds: f64,
}

impl State {
    fn new(options: &Options, inputs: usize) -> Result<Self, Box<dyn Error>> {
        let mut random = Generator::new(Stream {
            seed: options.seed,
            id: 0,
            step: 0,
        });
        let mut normal = |mean: f64, deviation: f64| mean + deviation * f64::from(random.normal());
        let hidden = Weights::from_fn(options.hidden, inputs, |_, _| normal(0.06, 0.12));
        let output = Weights::from_fn(CLASSES, options.hidden, |_, _| normal(0.0, 1.5));
        let network = Network::new(T_END, vec![LifLayer::new(TAU, 1.0, hidden)?])?;
        let network = network.readout(Readout::new(TAU, Functional::Mean, output)?)?;
        Ok(Self {
            best: network.clone(),
            network,
            adam: Adam::new(),
            epoch: 0,
            best_epoch: 0,
            best_accuracy: 0.0,
            seconds: 0.0,
        })
    }

    fn write(&self, path: &Path, options: &Options) -> Result<(), Box<dyn Error>> {
        let mut file = TensorFile::default();
        let list = |values: &[f64]| Tensor::f64([values.len()], values.to_vec());
        for (k, (values, best)) in self
            .network
            .parameters()
            .into_iter()
            .zip(self.best.parameters())
            .enumerate()
        {
            file.tensors.insert(format!("weights.{k}"), list(values));
            file.tensors.insert(format!("best.{k}"), list(best));
        }
        for (k, (mean, square)) in self.adam.mean.iter().zip(&self.adam.square).enumerate() {
            file.tensors.insert(format!("mean.{k}"), list(mean));
            file.tensors.insert(format!("square.{k}"), list(square));
        }
        let numbers = [
            self.epoch as f64,
            self.adam.steps as f64,
            self.best_epoch as f64,
            self.best_accuracy,
            self.seconds,
        ];
        file.tensors.insert("progress".to_string(), list(&numbers));
        file.metadata.insert("options".to_string(), options.text());
        Ok(file.write(path)?)
    }

    fn read(&mut self, path: &Path, options: &Options) -> Result<(), Box<dyn Error>> {
        let file = TensorFile::read(path)?;
        let of = file
            .metadata
            .get("options")
            .map_or("no options", String::as_str);
        if of != options.text() {
            return Err(format!(
                "{} is of a run with {of}, not {}\n  help: use its options, or another --state",
                path.display(),
                options.text()
            )
            .into());
        }
        let get =
            |name: String| -> Result<Vec<f64>, Box<dyn Error>> { Ok(file.get(&name)?.to_f64()) };
        for (network, name) in [(&mut self.network, "weights"), (&mut self.best, "best")] {
            for (k, values) in network.parameters_mut().into_iter().enumerate() {
                values.copy_from_slice(&get(format!("{name}.{k}"))?);
            }
        }
        let tensors = 0..self.network.parameters().len();
        self.adam.mean = tensors
            .clone()
            .map(|k| get(format!("mean.{k}")))
            .collect::<Result<_, _>>()?;
        self.adam.square = tensors
            .map(|k| get(format!("square.{k}")))
            .collect::<Result<_, _>>()?;
        if let [epoch, steps, best_epoch, best_accuracy, seconds] = get("progress".to_string())?[..]
        {
            (self.epoch, self.adam.steps) = (epoch as u64, steps as u64);
            (self.best_epoch, self.best_accuracy, self.seconds) =
                (best_epoch as u64, best_accuracy, seconds);
        }
        Ok(())
    }

    /// Trains an epoch and returns the mean loss and the mean norm of the gradient.
    fn train(&mut self, digits: &Digits, options: &Options) -> Result<(f64, f64), Box<dyn Error>> {
        let mut order: Vec<usize> = (0..digits.samples.len()).collect();
        let stream = Stream {
            seed: options.seed,
            id: 1,
            step: self.epoch as u32,
        };
        Generator::new(stream).shuffle(&mut order);
        let rules = Rules {
            silent: Some(SilentPush {
                active: 0.1,
                strength: 1e-3,
            }),
            ..Rules::default()
        };
        let progress = std::io::stderr().is_terminal();
        // The learning rate falls to a hundredth, on half a cosine.
        let share = self.epoch as f64 / options.epochs.max(1) as f64;
        let rate =
            options.rate * (0.01 + 0.99 * 0.5 * (1.0 + (std::f64::consts::PI * share).cos()));
        let (mut loss, mut norm) = (0.0, 0.0);
        let batches = order.len().div_ceil(options.batch);
        for (k, batch) in order.chunks(options.batch).enumerate() {
            let samples: Vec<SpikeTrain> =
                batch.iter().map(|&k| digits.samples[k].clone()).collect();
            let labels: Vec<usize> = batch.iter().map(|&k| digits.labels[k]).collect();
            let traces = self.network.forward(&samples)?;
            let mut gradients =
                self.network
                    .gradient(&samples, &traces, &CrossEntropy::new(labels), &rules)?;
            norm += gradients.clip_norm(1.0) / batches as f64;
            loss += gradients.loss / batches as f64;
            self.adam.step(&mut self.network, &gradients, rate, 0.0)?;
            if progress && k % 20 == 0 {
                eprint!("\repoch {}: {:3} %", self.epoch + 1, 100 * k / batches);
                std::io::stderr().flush()?;
            }
        }
        if progress {
            eprint!("\r\x1b[K");
        }
        self.epoch += 1;
        Ok((loss, norm))
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let options = Options::read()?;
    let digits = match &options.data {
        Some(folder) => spikelet::data::mnist::load(folder)?,
        None => spikelet::data::synthetic::digits(options.seed),
    };
    let (train, validation) = digits.parts(0.1)?;
    let validation = validation.ok_or("a tenth of the images is for validation")?;
    let train = Digits::new(&*train, options.train)?;
    let validation = Digits::new(&*validation, options.train)?;
    let pixels: usize = image_shape(&*digits.train)?.iter().product();
    let mut state = State::new(&options, pixels + 1)?;
    if let Some(path) = options.state.as_deref().filter(|path| path.exists()) {
        state.read(path, &options)?;
    }
    while state.epoch < options.epochs {
        let start = Instant::now();
        let (loss, norm) = state.train(&train, &options)?;
        let accuracy = validation.accuracy(&state.network)?;
        if accuracy > state.best_accuracy {
            (state.best_accuracy, state.best_epoch) = (accuracy, state.epoch);
            state.best = state.network.clone();
        }
        state.seconds += start.elapsed().as_secs_f64();
        if let Some(path) = &options.state {
            state.write(path, &options)?;
        }
        let (epoch, seconds) = (state.epoch, state.seconds);
        match options.json {
            true => println!(
                "{{\"epoch\": {epoch}, \"loss\": {loss:.6}, \"gradient_norm\": {norm:.6}, \"validation_accuracy\": {accuracy:.6}, \"seconds\": {seconds:.1}}}"
            ),
            false => println!(
                "epoch {epoch}: loss {loss:.4}, validation {:.2} %, {seconds:.0} s",
                100.0 * accuracy
            ),
        }
    }
    let test = Digits::new(&*digits.test, usize::MAX)?.accuracy(&state.best)?;
    let (epoch, seconds) = (state.best_epoch, state.seconds);
    match options.json {
        true => println!(
            "{{\"best_epoch\": {epoch}, \"test_accuracy\": {test:.6}, \"seconds\": {seconds:.1}}}"
        ),
        false => println!(
            "test accuracy {:.2} % with the weights of epoch {epoch}, {seconds:.0} s",
            100.0 * test
        ),
    }
    Ok(())
}
