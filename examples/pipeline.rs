//! Four equal stages on four devices: a training step with three schedules, with a figure of each run.
//!
//! `cargo run --release --example pipeline -- FOLDER` writes the figures of the guide. The devices are
//! `cpu:0` to `cpu:3` with one thread each; with `cuda` as the second argument the devices are GPUs.

use spikelet::data::Batch;
use spikelet::pipeline::{ModelPipeline, PipelineSchedule, PipelineStep};
use spikelet::prelude::*;
use std::path::PathBuf;

const WIDTH: usize = 1024;
const BATCH: usize = 512;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().unwrap_or_else(|| "target/pipeline".into()));
    let kind = arguments.next().unwrap_or_else(|| "cpu".to_string());
    let settings = Settings {
        time_steps: 8,
        batch_size: BATCH,
        encoder: Direct.into(),
        ..Settings::default()
    };
    let images = (0..BATCH * WIDTH).map(|k| (k * 37 % 256) as f32 / 64.0);
    let labels = (0..BATCH).map(|k| (k % 10) as i64);
    let batch = Batch::of_images([1, 1, WIDTH], images.collect(), labels.collect());
    for (name, schedule, split, chunk) in [
        ("fill-drain", PipelineSchedule::FillDrain, 64, None),
        ("1f1b", PipelineSchedule::OneForwardOneBackward, 64, None),
        ("time-chunks", PipelineSchedule::FillDrain, BATCH, Some(1)),
    ] {
        let mut net = ModelPipeline::new().schedule(schedule);
        for stage in 0..4 {
            let device = spikelet::device::find(&format!("{kind}:{stage}"), 1)?;
            let layers = Sequential::new()
                .add(Flatten)
                .add(Lif::new(2.0))
                .add(Linear::new(WIDTH, WIDTH));
            net = net.append(layers, &device);
        }
        let partition = net.partition(split, chunk)?;
        let mut store = VarStore::new(partition.devices()[0].clone());
        let mut step = PipelineStep::new(&partition, &settings, [1, 1, WIDTH], &mut store)?;
        step.run(&batch, 1, 0.0)?;
        step.record_timeline();
        step.run(&batch, 2, 0.0)?;
        let trace = step.timeline().expect("it was watched");
        trace.save_svg(folder.join(format!("pipeline-{name}.svg")))?;
        println!(
            "{name}: {:.1} ms, idle {:.0} % ({:.0} % predicted), micro-batches kept {:?}, MiB {:?}",
            1e3 * trace.seconds(),
            100.0 * trace.idle(),
            100.0 * step.predicted_idle(),
            step.in_flight(),
            step.bytes().iter().map(|b| b >> 20).collect::<Vec<_>>(),
        );
    }
    Ok(())
}
