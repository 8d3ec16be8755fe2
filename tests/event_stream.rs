//! A stream of events through a network has the spikes of the recording at once.

use spikelet::events::frames::{FrameRule, FrameStream};
use spikelet::events::synthetic::SyntheticSet;
use spikelet::events::{EventBuffer, Split};
use spikelet::prelude::*;
use spikelet::runtime::VarStore;
use spikelet::schema::Member;
use spikelet::train::{Outputs, Step};

/// A small network for frames of 34 × 34 pixels, with pools, batch norm and a recurrent layer.
fn network() -> Sequential {
    Sequential::new()
        .add(Conv2d::new(2, 4, 3).bias(false).padding(1))
        .add(BatchNorm2d::new(4))
        .add(Lif::new(2.0).v_threshold(0.3))
        .add(MaxPool2d::new(2))
        .add(Flatten)
        .add(Rnn::new(Lif::new(2.0).v_threshold(0.2), 4 * 17 * 17, 24))
        .add(Linear::new(24, 10).bias(false))
        .add(Plif::new(2.0).v_threshold(0.02))
}

fn spikes_at_once_and_in_a_stream(rule: &str) -> Result<()> {
    let set: Member<dyn SyntheticSet> = "synthetic-gestures size=34 train=12 test=4"
        .parse()
        .map_err(Error::other)?;
    let rule: Member<dyn FrameRule> = rule.parse().map_err(Error::other)?;
    let sensor = set.sensor();
    let net = network();
    let step = |steps: usize| {
        let net = &net;
        Step::new(move |cx, inputs| {
            let x = &inputs["x"];
            let spikes = cx.trace_steps(net, x.dim(0), |_| x.clone())?.join();
            Ok(Outputs::loss(spikes.mean_all()).output("spikes", &spikes))
        })
        .batch_size(1)
        .sequence("x", DType::F32, [steps, 2, 34, 34])
    };
    let mut fired = 0.0;
    for index in set.indices(Split::Test) {
        let events = set.events(0, index).map_err(Error::other)?;
        let frames = rule.tensor(&events, sensor).map_err(Error::other)?;
        let mut store = VarStore::new(spikelet::device::cpu()?);
        let step = step(frames.shape[0]);
        let mut whole = step.compile_predict(&mut store)?;
        whole.predict([("x", &frames.values)])?;
        let expected = whole.output("spikes")?.to_f64();

        let mut stream = step.compile_stream(&mut store)?;
        let mut frames = FrameStream::new(&*rule, sensor).map_err(Error::other)?;
        let mut spikes = vec![];
        let mut each = |frame: &[f32]| -> Result<()> {
            stream.predict([("x", frame)])?;
            spikes.extend(stream.output("spikes")?.to_f64());
            Ok(())
        };
        // Packets of a camera.
        for from in (0..events.len()).step_by(300) {
            let mut packet = EventBuffer::default();
            for at in from..events.len().min(from + 300) {
                packet.push(events.t[at], events.x[at], events.y[at], events.p[at] != 0);
            }
            let mut complete = vec![];
            let pushed = frames.push(&packet, |frame| {
                complete.push(frame.to_vec());
                Ok::<(), spikelet::events::Error>(())
            });
            pushed.map_err(Error::other)?;
            complete.iter().try_for_each(|frame| each(frame))?;
        }
        frames.finish(&mut each)?;
        assert_eq!(spikes, expected, "sample {index}");
        fired += spikes.iter().sum::<f64>();
    }
    assert!(fired > 10.0, "{fired} spikes");
    Ok(())
}

#[test]
fn frames_of_a_duration_have_the_same_spikes_in_a_stream() -> Result<()> {
    spikes_at_once_and_in_a_stream("duration=100000")
}

#[test]
fn frames_of_a_number_of_events_have_the_same_spikes_in_a_stream() -> Result<()> {
    spikes_at_once_and_in_a_stream("event-counts=250 include_incomplete=true")
}
