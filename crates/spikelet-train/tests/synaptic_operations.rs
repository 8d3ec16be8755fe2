//! The monitor of synaptic operations against the counts of operations.

use spikelet_core::Result;
use spikelet_data::{DType, DataLoader, Field, InMemory, LoaderConfig, synthetic};
use spikelet_expr::Expr;
use spikelet_graph::Tensor;
use spikelet_nn::energy::NetworkCounts;
use spikelet_nn::layer::ConvTransposed2d;
use spikelet_report::log::tensorboard::read_scalars;
use spikelet_train::prelude::*;
use spikelet_train::step::EpochMetrics;
use spikelet_train::{Inputs, Monitor, Outputs, Step, StepError, count_operations};
use std::sync::Arc;

const T: usize = 3;
const N: usize = 23;

fn linear() -> Sequential {
    Sequential::new()
        .add(Flatten)
        .add(Linear::new(784, 30).bias(false))
        .add(Lif::new(1.5))
        .add(Linear::new(30, 10).bias(true))
}

/// Convolutions whose windows reach over the boundaries, or leave elements of the input out.
fn convolutional() -> Sequential {
    Sequential::new()
        .add(Conv2d::new(1, 4, 3).bias(false).stride(2).padding(1))
        .add(If::new())
        .add(
            Conv2d::new(4, 6, [3, 2])
                .bias(false)
                .stride([1, 3])
                .padding([2, 0])
                .groups(2),
        )
        .add(If::new())
        .add(Conv2d::new(6, 4, 2).bias(false).dilation([3, 2]).stride(2))
        .add(If::new())
        .add(
            ConvTransposed2d::new(
                Conv2d::new(4, 2, 3)
                    .bias(false)
                    .stride([2, 3])
                    .padding([0, 1]),
            )
            .output_padding([1, 0]),
        )
        .add(Flatten)
        .add(Linear::new(128, 10).bias(false))
}

/// A step of a network without the number of samples.
fn step(net: &Arc<Sequential>) -> Step<'static> {
    let net = net.clone();
    Step::new(move |cx: &Context, inputs: &Inputs| {
        let x = (&inputs["images"] * 4.0).repeat_over_time(T);
        let scores = cx.trace(&*net, x)?.mean(&[0]);
        let loss = loss::cross_entropy(&scores, &inputs["labels"]);
        Ok(Outputs::loss(loss))
    })
    .input("images", DType::F32, [1, 28, 28])
    .input("labels", DType::I64, [])
    .optimizer(Adam::new(1e-3))
}

fn monitored(step: Step<'_>) -> Step<'_> {
    step.monitor(Monitor::SynapticOperations, "*")
}

/// Sets every third weight to 0, the others to large values of both signs.
fn sparse(step: &Step<'_>, store: &mut VarStore) -> Result<()> {
    let eval = step.clone().batch_size(1).compile_eval(store)?;
    drop(eval);
    let names: Vec<String> = store.names().map(String::from).collect();
    for name in names.iter().filter(|name| name.ends_with("weight")) {
        let old = store.get(name)?;
        let value = |k: usize| match k % 3 {
            0 => 0.0,
            _ => ((k * 7919) % 23) as f32 / 11.0 - 0.7,
        };
        let values: Vec<f32> = (0..old.to_f64().len()).map(value).collect();
        store.set(name, &Tensor::f32(old.shape.clone(), values))?;
    }
    Ok(())
}

/// The mean number of operations of a sample, by layer; a layer that runs several times has several rows.
fn means(counts: &NetworkCounts) -> Vec<(String, f64)> {
    let mut found: Vec<(String, u64)> = vec![];
    for layer in counts.layers.iter().filter(|layer| layer.connections > 0) {
        let operations = layer.accumulates + layer.multiply_accumulates;
        match found.iter_mut().find(|(name, _)| *name == layer.name) {
            Some((_, sum)) => *sum += operations,
            None => found.push((layer.name.clone(), operations)),
        }
    }
    let samples = counts.samples as f64;
    let each = found.into_iter();
    each.map(|(name, sum)| (name, sum as f64 / samples))
        .collect()
}

fn assert_equal(expected: &[(String, f64)], found: &EpochMetrics) {
    for (layer, operations) in expected {
        assert!(*operations > 0.0, "{layer} has no operations");
        let found = found.get(&format!("{layer}.synaptic_operations"));
        assert_eq!(found, Some(*operations), "{layer}");
    }
}

#[test]
fn values_equal_the_counts_of_operations_on_one_and_on_two_batches() -> Result<()> {
    let digits = synthetic::digits_of(3, 8, N).test;
    let all = DataLoader::new(digits.clone(), LoaderConfig::default())?;
    for (net, layers) in [(linear(), 2), (convolutional(), 5)] {
        let net = Arc::new(net);
        for propagation in [Propagation::LayerByLayer, Propagation::StepByStep] {
            let step = || step(&net).propagation(propagation);
            let mut store = VarStore::new(spikelet_nn::device::cpu()?);
            sparse(&step(), &mut store)?;
            let expected = means(&step().count_operations(&all, &mut store)?);
            assert_eq!(expected.len(), layers);
            assert_equal(&expected, &monitored(step()).evaluate(&all, &mut store)?);

            // 16 and 7 samples.
            let loader = DataLoader::new(
                digits.clone(),
                LoaderConfig {
                    batch_size: 16,
                    shuffle: false,
                    ..LoaderConfig::default()
                },
            )?;
            let mut found = EpochMetrics::default();
            let mut first = 0;
            for batch in loader.epoch(0, 0) {
                let batch = batch?;
                let sized = monitored(step()).batch_size(batch.len());
                found.add(&sized.compile_eval(&mut store)?.run_batch(&batch)?);
                first += batch.len();
            }
            assert_eq!((first, found.samples()), (N, N));
            assert_equal(&expected, &found);
        }
    }
    Ok(())
}

#[test]
fn other_precisions_and_spikes_of_an_encoder_are_counted_alike() -> Result<()> {
    let digits = synthetic::digits_of(4, 8, N).test;
    let all = DataLoader::new(digits, LoaderConfig::default())?;
    let net = Arc::new(convolutional());
    let mut store = VarStore::new(spikelet_nn::device::cpu()?);
    sparse(&step(&net), &mut store)?;
    for precision in [Precision::Bf16, Precision::F16, Precision::Tf32] {
        let step = || step(&net).precision(precision);
        let expected = means(&step().count_operations(&all, &mut store)?);
        assert_equal(&expected, &monitored(step()).evaluate(&all, &mut store)?);
    }
    Ok(())
}

#[test]
fn a_layer_that_runs_twice_has_the_sum() -> Result<()> {
    let net = Linear::new(6, 6).bias(false);
    let step = Step::new(move |cx: &Context, inputs: &Inputs| {
        let call = |x: &Var| cx.child("fc", |cx| net.forward(cx, x));
        let positive =
            call(&inputs["x"].repeat_over_time(T))?.map1(|y| Expr::select(y.gt(0.0), 1.0, 0.0));
        Ok(Outputs::loss(call(&positive)?.mean_all()))
    })
    .input("x", DType::F32, [6])
    .optimizer(Sgd::new(0.1));
    let x = (0..60).map(|k| (k % 7) as f32 - 3.0).collect::<Vec<_>>();
    let field = Field::new("x", DType::F32, [6]);
    let data = InMemory::new("numbers").with(field, x)?;
    let loader = DataLoader::new(Arc::new(data), LoaderConfig::default())?;
    let mut store = VarStore::new(spikelet_nn::device::cpu()?);
    let counts = step.count_operations(&loader, &mut store)?;
    assert_eq!(counts.layers.len(), 2);
    assert_equal(
        &means(&counts),
        &monitored(step).evaluate(&loader, &mut store)?,
    );
    Ok(())
}

/// The evaluation of a linear layer with ones as inputs.
fn of_ones(inputs: usize, outputs: usize, samples: usize, steps: usize) -> Result<EpochMetrics> {
    let net = Linear::new(inputs, outputs).bias(false);
    let step = Step::new(move |cx: &Context, given: &Inputs| {
        let y = cx.child("fc", |cx| {
            net.forward(cx, &given["x"].repeat_over_time(steps))
        })?;
        Ok(Outputs::loss(y.mean_all()))
    })
    .input("x", DType::F32, [inputs])
    .optimizer(Sgd::new(0.1))
    .monitor(Monitor::SynapticOperations, "fc");
    let field = Field::new("x", DType::F32, [inputs]);
    let data = InMemory::new("ones").with(field, vec![1.0_f32; samples * inputs])?;
    let loader = DataLoader::new(Arc::new(data), LoaderConfig::default())?;
    let mut store = VarStore::new(spikelet_nn::device::cpu()?);
    step.evaluate(&loader, &mut store)
}

#[test]
fn values_are_exact_where_a_sum_is_no_f32() -> Result<()> {
    // More inputs than are summed at once, more operations than f32 has integers; a fan-out that leaves few digits.
    for (inputs, outputs, samples, steps) in [(9001, 7, 37, 11), (3, 5001, 301, 11), (1, 1, 5, 2)] {
        let found = of_ones(inputs, outputs, samples, steps)?;
        let expected = (inputs * outputs * steps) as f64;
        assert_eq!(found.get("fc.synaptic_operations"), Some(expected));
    }
    Ok(())
}

#[test]
fn a_pattern_selects_layers_with_weights() -> Result<()> {
    let net = Arc::new(linear());
    let digits = synthetic::digits_of(3, 8, N).test;
    let all = DataLoader::new(digits, LoaderConfig::default())?;
    let mut store = VarStore::new(spikelet_nn::device::cpu()?);
    let of = |pattern: &str| step(&net).monitor(Monitor::SynapticOperations, pattern);
    let found = of("3").evaluate(&all, &mut store)?;
    let names: Vec<&str> = found.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["3.synaptic_operations"]);
    let error = of("2").evaluate(&all, &mut store).expect_err("a neuron");
    assert!(
        matches!(
            error.downcast_ref::<StepError>(),
            Some(StepError::NoMatch { names, .. }) if names[..] == ["1", "3"]
        ),
        "{error}"
    );
    // The values do not change those of the step.
    let plain = step(&net).evaluate(&all, &mut store)?;
    assert_eq!(plain.loss().to_bits(), found.loss().to_bits());
    // In training nothing is measured.
    let batch = (("images", &[0.5; 784]), ("labels", &[1]));
    let trained = of("*").batch_size(1).compile(&mut store)?.run(batch)?;
    assert_eq!(trained.get("3.synaptic_operations"), None);
    Ok(())
}

#[test]
fn epochs_of_a_trainer_have_the_values_and_its_curves_too() -> Result<()> {
    let data = synthetic::digits_of(5, 64, N);
    let settings = Settings {
        epochs: 2,
        time_steps: T,
        batch_size: 16,
        evaluation_batch: Some(16),
        validation: 0.0,
        ..Settings::default()
    };
    let folder = tempfile::tempdir().expect("a folder");
    let report = Trainer::new(convolutional(), settings.clone())
        .monitor_layers(Monitor::SynapticOperations, "*")
        .folder(folder.path())
        .fit(&data)?;
    let net = convolutional();
    let mut store = VarStore::new(spikelet_nn::device::cpu()?);
    let checkpoint = report.checkpoint.as_ref().expect("a folder was given");
    let trained = step(&Arc::new(convolutional()))
        .batch_size(1)
        .compile(&mut store)?;
    trained.load(&mut store, checkpoint, true, &[])?;
    let (_, counts) = count_operations(&net, &settings, &data.test, &mut store)?;
    let test = report.last().and_then(|epoch| epoch.test.as_ref());
    let test = test.expect("a test set");
    for (layer, operations) in means(&counts) {
        let name = format!("{layer}.synaptic_operations");
        assert_eq!(test.get(&name), Some(operations), "{name}");
        assert!(
            report.history[0]
                .train
                .iter()
                .all(|(other, _)| *other != name)
        );
    }
    let curves = read_scalars(folder.path().join("tensorboard"))?;
    let curve = &curves["epoch/test_0.synaptic_operations"];
    assert_eq!(curve.len(), 2);
    assert_eq!(
        Some(curve[1].1),
        test.get("0.synaptic_operations").map(|value| value as f32)
    );
    Ok(())
}
