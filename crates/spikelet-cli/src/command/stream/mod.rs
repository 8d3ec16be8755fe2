//! `spikelet stream`

mod input;
mod latency;
mod network;
mod stop;

use crate::args::{CheckpointPath, DeviceArgs};
use crate::command::data::{SENSOR_HELP, parse_sensor};
use crate::command::trained::Trained;
use crate::command::{examples, path_text, say_table};
use crate::failure::Failure;
use crate::table::Table;
use input::Input;
use latency::Latencies;
use network::StreamedNetwork;
use serde_json::json;
use spikelet::human::{duration, thousands};
use spikelet::log::Console;
use spikelet::problem_and_help;
use spikelet::schema::Member;
use spikelet_events::frames::{FrameRule, FrameStream};
use spikelet_events::{EventBuffer, EventReader, Format, Options, Sensor};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use stop::Stop;

/// Run a trained network on a stream of events, step by step
///
/// Events become frames of a fixed duration or number of events; the network runs one time step for
/// each, and keeps its states. Memory is constant. The scores are means over the last time steps, as
/// many as the network was trained with. Printed are changes of the class, and at the end the latency
/// of a step, from the events to the scores.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet stream best.safetensors --input recording.aedat4 --frames duration=50000" => "a recording, as fast as possible",
    "spikelet stream best.safetensors --input recording.raw --frames duration=50000 --pace 1" => "at its own pace",
    "spikelet stream best.safetensors --input - --format evt3 --frames event-counts=5000" => "from another program, through a pipe",
    "spikelet stream best.safetensors --input tcp://localhost:9000 --frames duration=50000 --json" => "from a socket; a line for each step",
    "spikelet stream best.safetensors --input tcp://localhost:9000 --learn --save learned.safetensors" => "plastic layers go on learning",
])]
pub struct Stream {
    /// Checkpoint of a network for event data, or the folder of a run: its best one
    #[arg(value_name = "CHECKPOINT", value_parser = CheckpointPath::parser())]
    checkpoint: CheckpointPath,

    /// File, - for standard input, tcp://HOST:PORT, or tcp-listen://HOST:PORT for one connection
    #[arg(long, value_name = "INPUT", value_parser = Input::parse)]
    input: Input,

    /// Frames: duration=MICROSECONDS, such as duration=50000, event-counts=NUMBER, or sound
    /// step=MICROSECONDS [default: those of the training, if they are of these kinds]
    #[arg(long, value_name = "RULE")]
    frames: Option<Member<dyn FrameRule>>,

    /// Format of the events [default: by content, then by the extension]
    #[arg(long, value_name = "NAME", value_parser = Format::find)]
    format: Option<Format>,

    /// Width and height of the sensor, such as 346x260 [default: that of the training]
    #[arg(long, value_name = "WxH", value_parser = parse_sensor)]
    sensor: Option<Sensor>,

    /// Speed of a recording relative to its own times: 1 is its own pace [default: as fast as possible]
    #[arg(long, value_name = "X", value_parser = parse_pace)]
    pace: Option<f64>,

    /// Let the weights of plastic layers that change in each step change while the network runs
    #[arg(long)]
    learn: bool,

    /// With --learn: the checkpoint with the changed weights, written at the end and on Ctrl-C
    #[arg(long, value_name = "FILE", requires = "learn")]
    save: Option<PathBuf>,

    #[command(flatten)]
    device: DeviceArgs,
}

/// The slowest pace: a second of the recording in twelve days. The waiting times of all recordings have a form.
const SLOWEST: f64 = 1e-6;

fn parse_pace(text: &str) -> Result<f64, String> {
    match crate::args::positive(text)? {
        pace if pace >= SLOWEST => Ok(pace),
        _ => Err(format!("use at least {SLOWEST:e}")),
    }
}

/// What was counted.
struct Counts {
    events: u64,
    steps: u64,
    changes: u64,
    latencies: Latencies,
}

impl Stream {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        self.checkpoint.say(console);
        let mut trained = Trained::open(&self.checkpoint, &self.device)?;
        let mut network = StreamedNetwork::new(&mut trained, self.frames.clone(), self.learn)?;
        let sensor = self.sensor.or(network.sensor);
        let options = Options {
            format: self.format,
            sensor,
            ..Options::default()
        };
        let listening = |address: String| {
            console.say_json(&json!({"event": "listening", "address": address}));
            console.say(format!("listening at {address}"));
        };
        let mut reader = self.input.open(&options, listening)?;
        let mut block = EventBuffer::default();
        // The first block tells the sensor, if nothing else does.
        let mut more = read(&mut reader, &mut block)?;
        let sensor = sensor
            .or(reader.sensor())
            .ok_or_else(|| Failure::argument("the size of the sensor is not known", SENSOR_HELP))?;
        let frames = FrameStream::new(&*network.rule, sensor);
        let mut frames = frames.map_err(|error| {
            let text = error.to_string();
            let (problem, _) = problem_and_help(&text);
            Failure::argument(
                problem,
                "give frames of a stream, such as --frames duration=50000",
            )
        })?;
        let mut counts = Counts {
            events: 0,
            steps: 0,
            changes: 0,
            latencies: Latencies::new(),
        };
        let begin = Instant::now();
        let mut first = None;
        // Only weights that are to be saved are worth the wait for the end of a block.
        let stop = self.save.as_ref().map(|_| Stop::on_signals());
        loop {
            counts.events += block.len() as u64;
            if let (Some(pace), Some(&t)) = (self.pace, block.t.last()) {
                let first = *first.get_or_insert(block.t[0]);
                let passed = t.saturating_sub(first).max(0) as f64 * 1e-6;
                let due = Duration::from_secs_f64(passed / pace);
                stop::sleep(due.saturating_sub(begin.elapsed()), stop.as_ref());
            }
            let step = |frame: &[f32]| network.step(frame, &mut counts, console);
            frames.push(&block, step)?;
            if !more || stop.as_ref().is_some_and(Stop::requested) {
                break;
            }
            block.clear();
            more = read(&mut reader, &mut block)?;
        }
        frames.finish(|frame| network.step(frame, &mut counts, console))?;
        self.say_end(console, &counts, begin.elapsed(), &network);
        if let Some(path) = &self.save {
            trained.save(path)?;
            console.say_json(&json!({"event": "saved", "path": path_text(path)}));
            console.say(format!("weights: {}", path_text(path)));
        }
        Ok(ExitCode::SUCCESS)
    }

    fn say_end(
        &self,
        console: &Console,
        counts: &Counts,
        elapsed: Duration,
        network: &StreamedNetwork,
    ) {
        let seconds = elapsed.as_secs_f64();
        let [median, most] = [0.5, 0.99].map(|share| counts.latencies.percentile(share));
        let class = network.class();
        console.say_json(&json!({
            "event": "done", "checkpoint": path_text(&self.checkpoint), "events": counts.events,
            "steps": counts.steps, "changes": counts.changes, "seconds": seconds,
            "latency_us": median, "latency_99_us": most, "class": class,
        }));
        let mut table = Table::without_head();
        let mut row = |name: &str, value: String| table.row([name.to_string(), value]);
        row("events", thousands(counts.events));
        row("steps", thousands(counts.steps));
        row("time", duration(seconds));
        if let (Some(median), Some(most)) = (median, most) {
            row(
                "latency",
                format!("{median:.0} µs in the median, {most:.0} µs in 99 %"),
            );
        }
        if let Some(class) = class {
            row("class at the end", class);
        }
        say_table(console, &table);
    }
}

/// Reads the next block; `false` at the end.
fn read(reader: &mut EventReader, block: &mut EventBuffer) -> Result<bool, Failure> {
    Ok(reader.read_block(block)?)
}
