//! Recorded values against a simulation, against monitors, and against the evaluation.

use spikelet_core::{Error, Result};
use spikelet_data::{
    ArrayFiles, DType, DataLoader, Dataset, Field, InMemory, LoaderConfig, synthetic,
};
use spikelet_graph::Tensor;
use spikelet_nn::layer::RadLif;
use spikelet_nn::neuron::{LeakyIntegrator, Liaf, Psn};
use spikelet_train::prelude::*;
use spikelet_train::recording::{RecordedFile, RecordingError};
use spikelet_train::{
    Inputs, Monitor, Outputs, Recorded, Recording, Step, StepError, evaluate, given_inputs, record,
};
use std::path::Path;
use std::sync::Arc;

const T: usize = 6;
const N: usize = 23;
const INPUTS: usize = 7;
const HIDDEN: usize = 5;
const CLASSES: usize = 3;

/// Eighths, so that all sums of the simulation are exact in f32.
fn eighths(len: usize, seed: usize) -> Vec<f64> {
    let value = |k: usize| (((k + seed) * 7919 + seed * 31) % 29) as f64 / 8.0 - 1.25;
    (0..len).map(value).collect()
}

fn f32s(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&value| value as f32).collect()
}

fn step() -> Step<'static> {
    let net = Sequential::new()
        .add(Linear::new(INPUTS, HIDDEN).bias(false))
        .add(Lif::new(2.0))
        .add(Linear::new(HIDDEN, CLASSES).bias(false))
        .add(If::new());
    Step::new(move |cx: &Context, inputs: &Inputs| {
        let x = inputs["x"].repeat_over_time(T);
        let scores = net.forward(cx, &x)?.mean(&[0]);
        let loss = loss::cross_entropy(&scores, &inputs["labels"]);
        Ok(Outputs::loss(loss).output("scores", &scores))
    })
    .input("x", DType::F32, [INPUTS])
    .input("labels", DType::I64, [])
    .optimizer(Adam::new(1e-3))
}

/// The loader of N samples, and a store with known weights.
fn known() -> Result<(DataLoader, VarStore)> {
    let labels: Vec<i64> = (0..N).map(|k| (k % CLASSES) as i64).collect();
    let data = InMemory::new("eighths")
        .with(
            Field::new("x", DType::F32, [INPUTS]),
            f32s(&eighths(N * INPUTS, 3)),
        )?
        .with(Field::new("labels", DType::I64, []), labels)?;
    let loader = DataLoader::new(Arc::new(data), LoaderConfig::default())?;
    let mut store = VarStore::new(spikelet_nn::device::cpu()?);
    step().compile_eval(&mut store)?;
    for (name, [rows, columns], seed) in [
        ("0.weight", [HIDDEN, INPUTS], 1),
        ("2.weight", [CLASSES, HIDDEN], 2),
    ] {
        let values = f32s(&eighths(rows * columns, seed));
        store.set(name, &Tensor::f32([rows, columns], values))?;
    }
    Ok((loader, store))
}

/// Inputs, potentials after the reset and spikes of a layer, `[T, N, neurons]`.
#[derive(Default)]
struct Layer {
    x: Vec<f64>,
    v: Vec<f64>,
    s: Vec<f64>,
}

/// A layer of neurons: V ← V + (X − V)/τ, or V ← V + X without leak; a spike at 1 resets V to 0.
fn simulate(inputs: &[Vec<f64>], weight: &[f64], neurons: usize, tau: Option<f64>) -> Layer {
    let features = weight.len() / neurons;
    let mut layer = Layer::default();
    let mut v = vec![0.0; inputs[0].len() / features * neurons];
    for step in inputs {
        for (k, v) in v.iter_mut().enumerate() {
            let (n, o) = (k / neurons, k % neurons);
            let x: f64 = (0..features)
                .map(|i| weight[o * features + i] * step[n * features + i])
                .sum();
            let h = match tau {
                Some(tau) => *v + (x - *v) / tau,
                None => *v + x,
            };
            let fires = h >= 1.0;
            *v = if fires { 0.0 } else { h };
            layer.x.push(x);
            layer.v.push(*v);
            layer.s.push(f64::from(u8::from(fires)));
        }
    }
    layer
}

/// An array of a file.
fn read(path: &Path, name: &str) -> Result<(Vec<usize>, Vec<f64>)> {
    let safetensors = path
        .extension()
        .is_some_and(|ending| ending == "safetensors");
    let file = match safetensors {
        true => ArrayFiles::safetensors(path, &[name])?,
        false => ArrayFiles::npz(path, &[name])?,
    };
    let mut shape = vec![file.len()];
    shape.extend(file.fields()[0].shape.iter().flatten());
    let mut values = vec![];
    for k in 0..file.len() {
        let sample = file.sample(k)?;
        let row = sample.require(name)?;
        values.extend(row.as_u8().into_iter().flatten().map(|&v| f64::from(v)));
        values.extend(row.as_f32().into_iter().flatten().map(|&v| f64::from(v)));
        values.extend(row.as_i64().into_iter().flatten().map(|&v| v as f64));
    }
    Ok((shape, values))
}

/// Rows `range` of axis 1 of `[T, N, row]`.
fn rows(values: &[f64], row: usize, range: std::ops::Range<usize>) -> Vec<f64> {
    let steps = values.chunks_exact(N * row);
    let chosen = steps.flat_map(|step| &step[range.start * row..range.end * row]);
    chosen.copied().collect()
}

#[test]
fn recorded_values_are_those_of_a_simulation() -> Result<()> {
    let (loader, mut store) = known()?;
    let images = eighths(N * INPUTS, 3);
    let first = simulate(
        &vec![images; T],
        &eighths(HIDDEN * INPUTS, 1),
        HIDDEN,
        Some(2.0),
    );
    let spikes: Vec<Vec<f64>> = first.s.chunks(N * HIDDEN).map(<[f64]>::to_vec).collect();
    let second = simulate(&spikes, &eighths(CLASSES * HIDDEN, 2), CLASSES, None);
    assert!(first.s.contains(&1.0) && second.s.contains(&1.0) && second.s.contains(&0.0));

    let folder = tempfile::tempdir().expect("a folder");
    for (ending, range) in [("npz", 0..N), ("safetensors", 4..21)] {
        let path = folder.path().join(format!("some.{ending}"));
        let recording = Recording::new("*")
            .values(Recorded::NEURONS)
            .samples(range.clone());
        let file = step().record(&recording, &loader, &mut store, &path)?;
        let count = range.len();
        for (layer, name, neurons) in [(&first, "1", HIDDEN), (&second, "3", CLASSES)] {
            for (suffix, expected) in [
                ("spike_seq", &layer.s),
                ("v_seq", &layer.v),
                ("x_seq", &layer.x),
            ] {
                let (shape, values) = read(&path, &format!("{name}.{suffix}"))?;
                assert_eq!(shape, [T, count, neurons]);
                assert_eq!(
                    values,
                    rows(expected, neurons, range.clone()),
                    "{name}.{suffix}"
                );
            }
        }
        // The mean over time, and its largest element.
        let scores: Vec<f64> = (range.start * CLASSES..range.end * CLASSES)
            .map(|k| {
                let sum: f64 = second.s.chunks(N * CLASSES).map(|step| step[k]).sum();
                f64::from(sum as f32 / T as f32)
            })
            .collect();
        let (shape, found) = read(&path, "scores")?;
        assert_eq!(shape, [count, CLASSES]);
        for (found, expected) in found.iter().zip(&scores) {
            assert!((found - expected).abs() <= 1e-6, "{found} {expected}");
        }
        let best = found.chunks(CLASSES).map(|row| {
            (0..CLASSES).fold(0, |best, c| if row[c] > row[best] { c } else { best }) as f64
        });
        let best: Vec<f64> = best.collect();
        let labels: Vec<f64> = range.clone().map(|k| (k % CLASSES) as f64).collect();
        let indices: Vec<f64> = range.clone().map(|k| k as f64).collect();
        let right = best.iter().zip(&labels).filter(|(a, b)| a == b).count();
        assert_eq!(read(&path, "predictions")?.1, best);
        assert_eq!(read(&path, "labels")?.1, labels);
        assert_eq!(read(&path, "indices")?.1, indices);
        assert_eq!(file.accuracy, Some(right as f64 / count as f64));
        assert_eq!(file.arrays.len(), 10);
    }
    Ok(())
}

#[test]
fn rates_of_the_monitors_equal_a_count_over_the_written_spikes() -> Result<()> {
    let (loader, mut store) = known()?;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("spikes.npz");
    step().record(&Recording::new("*"), &loader, &mut store, &path)?;
    let monitored = step()
        .monitor(Monitor::Rate, "*")
        .monitor(Monitor::Neurons, "*")
        .evaluate(&loader, &mut store)?;
    for (layer, neurons) in [("1", HIDDEN), ("3", CLASSES)] {
        let (_, spikes) = read(&path, &format!("{layer}.spike_seq"))?;
        let value = |name: &str| monitored.get(&format!("{layer}.{name}"));
        let rate = spikes.iter().sum::<f64>() / (T * N * neurons) as f64;
        assert_eq!(value("rate"), Some(rate));
        let mut counts = vec![0.0; neurons];
        for (k, spike) in spikes.iter().enumerate() {
            counts[k % neurons] += spike;
        }
        let share = |test: &dyn Fn(f64) -> bool| {
            counts.iter().filter(|count| test(**count)).count() as f64 / neurons as f64
        };
        assert_eq!(value("dead"), Some(share(&|count| count == 0.0)));
        let all = (T * N) as f64;
        assert_eq!(value("saturated"), Some(share(&|count| count == all)));
    }
    Ok(())
}

fn classifier() -> (Sequential, Arc<dyn Dataset>, Settings) {
    let net = Sequential::new()
        .add_named("conv", Conv2d::new(1, 2, 3).bias(false).stride(3))
        .add_named("if", If::new())
        .add(Flatten)
        .add_named("fc", Linear::new(162, 10).bias(false))
        .add_named("lif", Lif::new(2.0));
    let settings = Settings {
        time_steps: T,
        ..Settings::default()
    };
    (net, synthetic::digits_of(3, 8, N).test, settings)
}

#[test]
fn the_file_does_not_depend_on_the_batch_and_has_the_samples_of_the_evaluation() -> Result<()> {
    // The encoder draws random numbers.
    let (net, digits, mut settings) = classifier();
    let mut store = VarStore::new(spikelet_nn::device::cpu()?);
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let all = Recording::new("*");
    let file = record(&net, &settings, &all, &digits, &mut store, path("all.npz"))?;
    let expected = evaluate(&net, &settings, &digits, &mut store)?;
    assert_eq!(file.accuracy, Some(expected.accuracy));
    let (shape, spikes) = read(&path("all.npz"), "if.spike_seq")?;
    assert_eq!(shape, [T, N, 2, 9, 9]);
    assert!(spikes.contains(&1.0) && spikes.contains(&0.0));

    settings.evaluation_batch = Some(4);
    record(&net, &settings, &all, &digits, &mut store, path("4.npz"))?;
    let bytes = |name: &str| std::fs::read(path(name)).expect("written");
    assert!(bytes("all.npz") == bytes("4.npz"));
    let some = Recording::new("if").samples(5..19);
    let file = record(&net, &settings, &some, &digits, &mut store, path("5.npz"))?;
    let names: Vec<&str> = file
        .arrays
        .iter()
        .map(|array| array.name.as_str())
        .collect();
    let expected = ["if.spike_seq", "scores", "predictions", "labels", "indices"];
    assert_eq!(names, expected);
    let (_, part) = read(&path("5.npz"), "if.spike_seq")?;
    assert_eq!(part, rows(&spikes, 162, 5..19));
    Ok(())
}

#[test]
fn requests_that_cannot_be_recorded_are_errors_and_write_nothing() -> Result<()> {
    let (loader, mut store) = known()?;
    let folder = tempfile::tempdir().expect("a folder");
    let mut fails = |recording: &Recording, name: &str| {
        let path = folder.path().join(name);
        let error = step().record(recording, &loader, &mut store, path);
        error.expect_err("it cannot be recorded")
    };
    let all = Recording::new("*");
    let error = fails(&all, "spikes.mat");
    assert!(matches!(
        error.downcast_ref(),
        Some(RecordingError::Format { .. })
    ));
    for samples in [0..N + 1, 4..4, N..N + 1] {
        let error = fails(&all.clone().samples(samples), "some.npz");
        let found = error.downcast_ref();
        assert!(matches!(
            found,
            Some(RecordingError::Samples { len: N, .. })
        ));
    }
    let error = fails(&Recording::new("conv*"), "some.npz");
    assert!(matches!(
        error.downcast_ref(),
        Some(StepError::NoMatch { .. })
    ));
    assert!(error.to_string().contains('3'), "{error}");
    let left = std::fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(left, 0);
    Ok(())
}

/// The names of the arrays of a file.
fn names(file: &RecordedFile) -> Vec<&str> {
    file.arrays
        .iter()
        .map(|array| array.name.as_str())
        .collect()
}

#[test]
fn values_without_a_form_are_left_out_and_named() -> Result<()> {
    let net = Sequential::new()
        .add(AvgPool2d::new(4))
        .add(Flatten)
        .add_named("psn", Psn::default())
        .add_named("both", RadLif::new(49, 4).bidirectional(true))
        .add_named("lif", Lif::new(2.0))
        .add_named("liaf", Liaf::default())
        .add_named("fc", Linear::new(8, 10).bias(false));
    let settings = Settings {
        time_steps: T,
        ..Settings::default()
    };
    let digits = synthetic::digits_of(3, 8, N).test;
    let mut store = VarStore::new(spikelet_nn::device::cpu()?);
    let folder = tempfile::tempdir().expect("a folder");
    let mut recorded = |values: &[Recorded], name: &str| {
        let recording = Recording::new("*").values(values.iter().copied());
        let path = folder.path().join(name);
        record(&net, &settings, &recording, &digits, &mut store, path)
    };
    let file = recorded(
        &[Recorded::Spikes, Recorded::Potentials, Recorded::Charged],
        "neurons.npz",
    )?;
    let expected = [
        "psn.spike_seq",
        "lif.spike_seq",
        "lif.v_seq",
        "liaf.v_seq",
        "lif.h_seq",
        "liaf.h_seq",
    ];
    assert_eq!(names(&file)[..6], expected);
    let left_out: Vec<&str> = file.left_out.iter().map(|left| &left.path[..]).collect();
    for path in [
        "psn.v_seq",
        "psn.h_seq",
        "liaf.spike_seq",
        "both.neuron.v_seq",
    ] {
        assert!(left_out.contains(&path), "{path}: {left_out:?}");
    }
    // Of layers without neurons too.
    let file = recorded(&[Recorded::Outputs], "outputs.npz")?;
    let expected = [
        "0.output_seq",
        "psn.output_seq",
        "both.output_seq",
        "lif.output_seq",
        "liaf.output_seq",
        "fc.output_seq",
        "output_seq",
    ];
    for name in expected {
        assert!(names(&file).contains(&name), "{name}: {:?}", names(&file));
    }
    // Nothing remains.
    let alone = Sequential::new()
        .add(Flatten)
        .add_named("psn", Psn::default());
    let recording = Recording::new("psn").values([Recorded::Potentials]);
    let path = folder.path().join("none.npz");
    let error = record(&alone, &settings, &recording, &digits, &mut store, &path);
    let error = error.expect_err("it has none");
    assert!(error.to_string().contains("psn.v_seq"), "{error}");
    assert!(!path.exists());
    Ok(())
}

#[test]
fn a_recorded_sequence_given_again_has_the_same_values() -> Result<()> {
    // The encoder draws random numbers.
    let (net, digits, settings) = classifier();
    let mut store = VarStore::new(spikelet_nn::device::cpu()?);
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let recording = Recording::new("if").values([
        Recorded::Sequence,
        Recorded::Spikes,
        Recorded::Inputs,
        Recorded::Charged,
    ]);
    record(
        &net,
        &settings,
        &recording,
        &digits,
        &mut store,
        path("a.npz"),
    )?;
    let (shape, values) = read(&path("a.npz"), "input_seq")?;
    assert_eq!(shape, [T, N, 1, 28, 28]);
    let inputs = Tensor::f32(shape, f32s(&values));
    let given = given_inputs("given", &inputs, None)?;
    let file = record(
        &net,
        &settings.of_inputs(T),
        &recording,
        &given,
        &mut store,
        path("b.npz"),
    )?;
    assert_eq!(file.accuracy, None);
    let expected = [
        "input_seq",
        "if.spike_seq",
        "if.x_seq",
        "if.h_seq",
        "scores",
        "predictions",
        "indices",
    ];
    assert_eq!(names(&file), expected);
    for name in expected {
        let [a, b] = ["a.npz", "b.npz"].map(|file| read(&path(file), name));
        assert!(a? == b?, "{name}");
    }
    // A sequence of another length.
    let some = Tensor::f32([3, 2, 1, 28, 28], vec![0.5; 3 * 2 * 784]);
    let given = given_inputs("given", &some, None)?;
    let file = record(
        &net,
        &settings.of_inputs(3),
        &recording,
        &given,
        &mut store,
        path("c.npz"),
    )?;
    assert_eq!(file.arrays[1].shape, [3, 2, 2, 9, 9]);
    let error = given_inputs("given", &Tensor::f32([3, 2], vec![0.5; 6]), None);
    assert!(
        error
            .expect_err("no axes")
            .to_string()
            .contains("[T, N, …]")
    );
    Ok(())
}

#[test]
fn a_recording_at_rest_starts_as_a_stream() -> Result<()> {
    let integrator = LeakyIntegrator {
        random_start: true,
        ..LeakyIntegrator::default()
    };
    let net = Sequential::new()
        .add(Linear::new(INPUTS, HIDDEN).bias(false))
        .add(integrator);
    let step = Step::new(move |cx: &Context, inputs: &Inputs| {
        let y = net.forward(cx, &inputs["x"])?;
        Ok(Outputs::loss(y.mean_all()).output("y", &y))
    })
    .sequence("x", DType::F32, [T, INPUTS])
    .optimizer(Sgd::new(0.1));
    let x = f32s(&eighths(T * INPUTS, 3));
    let field = Field::new("x", DType::F32, [T, INPUTS]).sequence();
    let data = InMemory::new("one").with(field, x.clone())?;
    let loader = DataLoader::new(Arc::new(data), LoaderConfig::default())?;
    let mut store = VarStore::new(spikelet_nn::device::cpu()?);
    let mut stream = step.compile_stream(&mut store)?;
    let mut expected = vec![];
    for x in x.chunks(INPUTS) {
        stream.predict([("x", x)])?;
        expected.extend(stream.output("y")?.to_f64());
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut outputs = |recording: Recording, name: &str| {
        let path = folder.path().join(name);
        let recording = recording.values([Recorded::Outputs]);
        step.record(&recording, &loader, &mut store, &path)?;
        Ok::<_, Error>(read(&path, "1.output_seq")?.1)
    };
    assert_eq!(
        outputs(Recording::new("*").at_rest(), "rest.npz")?,
        expected
    );
    assert!(outputs(Recording::new("*"), "random.npz")? != expected);
    Ok(())
}
