//! Ten steps of each optimizer against reference implementations, and updates that a program writes itself.
//! `tools/baselines/optimizers.py` makes the reference tensors.

use serde_json::{Map, Value};
use spikelet_core::Result;
use spikelet_data::synthetic;
use spikelet_graph::{DType, Precision, Tensor, Tracer, Var};
use spikelet_nn::runtime::{Program, VarStore};
use spikelet_nn::tensors::TensorFile;
use spikelet_schema::Schema;
use spikelet_train::optim::{
    Lamb, Muon, OPTIMIZERS, Optimizer, STATE_PREFIX, StateSpec, Update, Updated, feed_scalars_of,
    scalar_inputs_of, update_with_prefix,
};
use spikelet_train::prelude::*;
use spikelet_train::scaling::UpdateGuard;
use spikelet_train::{Outputs, Step};
use std::path::Path;
use std::sync::Arc;

const PARAMETERS: [&str; 4] = ["wide", "tall", "kernel", "bias"];

/// The input whose value is above 0 in a step that updates nothing.
const SKIP: &str = "skip";

fn reference() -> Result<TensorFile> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/data/optimizers.safetensors"
    );
    TensorFile::read(Path::new(path))
}

/// A program that applies an optimizer to parameters whose gradients are inputs.
struct Steps {
    program: Program,
    store: VarStore,
}

impl Steps {
    fn new(
        optimizer: &dyn Optimizer,
        parameters: &[(&str, Tensor)],
        precision: Precision,
    ) -> Result<Self> {
        let tracer = Tracer::new(DType::F32);
        tracer.set_precision(precision);
        let mut store = VarStore::new(spikelet_nn::device::cpu()?);
        let guard = UpdateGuard::FiniteGradients(tracer.input(SKIP, DType::F32, []));
        let scalars = scalar_inputs_of(&tracer, optimizer, "group");
        for (name, value) in parameters {
            store.insert(name, value)?;
            let weight = tracer.parameter(name, &value.shape[..]);
            let grad = tracer.input(&format!("{name}.grad"), DType::F32, &value.shape[..]);
            let prefix = STATE_PREFIX;
            update_with_prefix(prefix, optimizer, name, &weight, &grad, &scalars, &guard);
        }
        let program = Program::new(tracer.finish()?, &mut store)?;
        program.set(SKIP, &[0.0])?;
        Ok(Self { program, store })
    }

    /// Step `step` (1, 2, …) with these gradients.
    fn run(
        &mut self,
        optimizer: &dyn Optimizer,
        grads: &[(&str, &[f32])],
        step: u64,
        rate: f64,
    ) -> Result<()> {
        for (name, grad) in grads {
            self.program.set(&format!("{name}.grad"), grad)?;
        }
        feed_scalars_of(&self.program, optimizer, "group", step, rate)?;
        self.program.run()
    }
}

/// The cases of a reference with their constants.
fn cases(file: &TensorFile) -> Map<String, Value> {
    serde_json::from_str(&file.metadata["cases"]).expect("an object")
}

/// Runs a case and compares all parameters after each step.
fn compare(
    file: &TensorFile,
    case: &str,
    constants: &Value,
    precision: Precision,
    tolerance: f64,
) -> Result<()> {
    let mut constants = constants.as_object().expect("an object").clone();
    let mut take = |key: &str| constants.remove(key).expect("every case has it");
    let (name, rate) = (take("name"), take("learning_rate"));
    let is_decoupled = constants.remove("decoupled") == Some(true.into());
    let name = match is_decoupled {
        true => "adamw",
        false => name.as_str().expect("a text"),
    };
    let optimizer = OPTIMIZERS.named(name).expect("an optimizer");
    let optimizer = OPTIMIZERS.with(&*optimizer, &constants).expect("constants");
    let optimizer = &*optimizer;
    let initial = PARAMETERS.map(|name| (name, file.tensors[name].clone()));
    let mut steps = Steps::new(optimizer, &initial, precision)?;
    let factors = file.tensors["factor"].to_f64();
    for (k, factor) in factors.iter().enumerate() {
        let grads = PARAMETERS.map(|name| at(&file.tensors[&format!("{name}.grad")], k));
        let grads: Vec<(&str, &[f32])> = PARAMETERS
            .into_iter()
            .zip(grads.iter().map(Vec::as_slice))
            .collect();
        let rate = factor * rate.as_f64().expect("a number");
        steps.run(optimizer, &grads, k as u64 + 1, rate)?;
        for name in PARAMETERS {
            let expected = at(&file.tensors[&format!("{case}.{name}")], k);
            let found = steps.store.get(name)?.to_f64();
            for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
                let expected = f64::from(expected);
                let near = (found - expected).abs() <= tolerance * (1.0 + expected.abs());
                assert!(
                    near,
                    "{case}: {name}[{i}] after step {} is {found}, expected {expected}",
                    k + 1
                );
            }
        }
    }
    Ok(())
}

/// Element `k` of the first axis.
fn at(tensor: &Tensor, k: usize) -> Vec<f32> {
    let size = tensor.shape[1..].iter().product();
    let all = tensor.to_f64();
    all[k * size..][..size].iter().map(|&x| x as f32).collect()
}

#[test]
fn ten_steps_of_each_optimizer_match_the_reference() -> Result<()> {
    let file = reference()?;
    let cases = cases(&file);
    for name in OPTIMIZERS.names() {
        assert!(cases.keys().any(|case| case.starts_with(name)), "{name}");
    }
    for (case, constants) in &cases {
        compare(&file, case, constants, Precision::F32, 4e-6)?;
    }
    Ok(())
}

#[test]
fn muon_in_16_bits_is_near_the_reference() -> Result<()> {
    let file = reference()?;
    for precision in [Precision::Tf32, Precision::Bf16, Precision::F16] {
        compare(&file, "muon", &cases(&file)["muon"], precision, 1e-2)?;
    }
    Ok(())
}

#[test]
fn an_elementwise_update_is_one_operation_that_writes_all_its_tensors() -> Result<()> {
    for (name, states) in [("adam", 2), ("sgd", 0), ("rmsprop", 1), ("lion", 1)] {
        let optimizer = OPTIMIZERS.named(name).expect("an optimizer");
        let tracer = Tracer::new(DType::F32);
        let weight = tracer.parameter("w", [3]);
        let grad = tracer.input("grad", DType::F32, [3]);
        let scalars = scalar_inputs_of(&tracer, &*optimizer, "");
        let guard = UpdateGuard::FiniteLoss(tracer.input("loss", DType::F32, []));
        update_with_prefix("o", &*optimizer, "w", &weight, &grad, &scalars, &guard);
        let graph = tracer.finish()?;
        assert_eq!(
            (graph.nodes.len(), graph.outputs.len()),
            (1, 1 + states),
            "{name}"
        );
    }
    Ok(())
}

#[test]
fn a_skipped_step_changes_neither_parameters_nor_states() -> Result<()> {
    let parameters = [
        (
            "matrix",
            Tensor::f32([2, 3], [0.5, -1.0, 2.0, 0.25, 1.5, -0.75]),
        ),
        ("bias", Tensor::f32([2], [1.0, -1.0])),
    ];
    for entry in OPTIMIZERS.entries {
        let (name, optimizer) = (entry.name(), (entry.default)());
        let optimizer = &*optimizer;
        let mut steps = Steps::new(optimizer, &parameters, Precision::F32)?;
        let good: [(&str, &[f32]); 2] = [
            ("matrix", &[1.0, 2.0, -1.0, 0.5, 0.25, 3.0]),
            ("bias", &[0.5, -0.25]),
        ];
        steps.run(optimizer, &good, 1, 0.1)?;
        let values = |steps: &Steps| -> Result<Vec<Vec<f64>>> {
            let names = steps.store.names();
            names
                .map(|name| Ok(steps.store.get(name)?.to_f64()))
                .collect()
        };
        let before = values(&steps)?;
        steps.program.set(SKIP, &[1.0])?;
        let bad: [(&str, &[f32]); 2] = [
            ("matrix", &[f32::NAN; 6]),
            ("bias", &[f32::INFINITY, f32::NAN]),
        ];
        steps.run(optimizer, &bad, 2, 0.1)?;
        assert_eq!(values(&steps)?, before, "{name}");
    }
    Ok(())
}

#[test]
fn a_gradient_of_zero_is_finite_in_every_optimizer() -> Result<()> {
    let parameters = [
        ("matrix", Tensor::f32([2, 3], [0.0; 6])),
        ("bias", Tensor::f32([2], [0.0; 2])),
    ];
    for entry in OPTIMIZERS.entries {
        let (name, optimizer) = (entry.name(), (entry.default)());
        let mut steps = Steps::new(&*optimizer, &parameters, Precision::F32)?;
        let zero: [(&str, &[f32]); 2] = [("matrix", &[0.0; 6]), ("bias", &[0.0; 2])];
        for step in 1..=3 {
            steps.run(&*optimizer, &zero, step, 0.1)?;
        }
        for tensor in ["matrix", "bias"] {
            let found = steps.store.get(tensor)?.to_f64();
            assert!(
                found.iter().all(|x| *x == 0.0),
                "{name}: {tensor} {found:?}"
            );
        }
    }
    Ok(())
}

/// SGD with a learning rate for each row, which decreases with the norm of the row's gradients.
#[derive(Debug, Schema)]
struct RowScaled {
    /// The learning rate.
    #[schema(default = 1.0, at_least = 0, kept)]
    lr: f64,
    /// The number of results, of which 2 are right.
    #[schema(default = 2)]
    results: usize,
}

impl Optimizer for RowScaled {
    fn lr(&self) -> f64 {
        self.lr
    }

    fn with_lr(&self, lr: f64) -> Arc<dyn Optimizer> {
        Arc::new(Self { lr, ..*self })
    }

    fn states(&self, weight: &[usize]) -> Vec<StateSpec> {
        vec![StateSpec::new("squares", &weight[..1])]
    }

    fn update(&self, u: &Update<'_>) -> Updated {
        let squares = &u.states[0] + u.grad.square().sum(&[1]);
        let rows = squares.reshape([squares.dim(0), 1]);
        let weight = Var::map(&[u.weight, u.grad, &rows, &u.scalars[0]], |x| {
            &x[0] - &x[3] * (&x[1] / x[2].sqrt())
        });
        let mut new = vec![weight, squares.clone(), squares];
        new.truncate(self.results);
        u.tensors(new)
    }
}

#[test]
fn a_state_has_its_own_shape() -> Result<()> {
    let optimizer = RowScaled::default();
    let weight = [("w", Tensor::f32([2, 2], [1.0, 2.0, 3.0, 4.0]))];
    let mut steps = Steps::new(&optimizer, &weight, Precision::F32)?;
    for step in 1..=2 {
        let grad: [(&str, &[f32]); 1] = [("w", &[3.0, 4.0, 0.0, 2.0])];
        steps.run(&optimizer, &grad, step, 1.0)?;
    }
    let state = steps.store.get("optimizer.squares.w")?;
    assert_eq!(
        (state.shape.clone(), state.to_f64()),
        (vec![2], vec![50.0, 8.0])
    );
    let after = |w: f64, g: f64, square: f64| w - g / square.sqrt() - g / (2.0 * square).sqrt();
    let expected = [
        after(1.0, 3.0, 25.0),
        after(2.0, 4.0, 25.0),
        3.0,
        after(4.0, 2.0, 4.0),
    ];
    for (found, expected) in steps.store.get("w")?.to_f64().iter().zip(expected) {
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
    }
    Ok(())
}

#[test]
fn an_update_with_too_few_or_too_many_results_is_an_error() {
    for results in [0, 1, 3] {
        let weight = [("fc.weight", Tensor::f32([2, 2], [1.0; 4]))];
        let optimizer = RowScaled {
            results,
            ..RowScaled::default()
        };
        let refused = Steps::new(&optimizer, &weight, Precision::F32).err();
        let problem = refused.expect("the number is wrong").to_string();
        for part in [
            "row-scaled",
            "fc.weight",
            "expected 2 new values",
            &format!("given: {results} new values"),
        ] {
            assert!(problem.contains(part), "{problem}");
        }
    }
}

#[test]
fn scalars_and_gradients_of_another_size_are_errors() {
    let traced = |scalars: usize, grad: &[usize]| {
        let tracer = Tracer::new(DType::F32);
        let weight = tracer.parameter("w", [2, 3]);
        let grad = tracer.input("grad", DType::F32, grad);
        let scalars: Vec<Var> = (0..scalars)
            .map(|k| tracer.input(&format!("{k}"), DType::F32, []))
            .collect();
        let guard = UpdateGuard::FiniteLoss(tracer.input("loss", DType::F32, []));
        update_with_prefix("o", &Lamb::default(), "w", &weight, &grad, &scalars, &guard);
        tracer.check()
    };
    assert!(traced(3, &[2, 3]).is_ok());
    let problem = traced(1, &[2, 3]).expect_err("two are missing").to_string();
    assert!(problem.contains("has 3 scalars"), "{problem}");
    let problem = traced(3, &[3]).expect_err("another shape").to_string();
    assert!(problem.contains("f32[3] and f32[2, 3]"), "{problem}");
}

#[test]
fn two_groups_and_two_prefixes_have_their_own_scalars_and_states() -> Result<()> {
    let tracer = Tracer::new(DType::F32);
    let mut store = VarStore::new(spikelet_nn::device::cpu()?);
    let guard = UpdateGuard::FiniteLoss(tracer.input("loss", DType::F32, []));
    let optimizer = Muon::default();
    for (name, prefix) in [("a", "optimizer"), ("b", "optimizer.critic")] {
        store.insert(name, &Tensor::f32([1], [0.0]))?;
        let scalars = scalar_inputs_of(&tracer, &optimizer, name);
        let weight = tracer.parameter(name, [1]);
        let grad = tracer.fill(DType::F32, [1], 1.0);
        update_with_prefix(prefix, &optimizer, name, &weight, &grad, &scalars, &guard);
    }
    let mut program = Program::new(tracer.finish()?, &mut store)?;
    program.set("loss", &[0.0])?;
    feed_scalars_of(&program, &optimizer, "a", 1, 1.0)?;
    feed_scalars_of(&program, &optimizer, "b", 1, 2.0)?;
    program.run()?;
    let rates = ["a", "b"].map(|name| store.get(name).map(|w| w.to_f64()[0]));
    for (found, expected) in rates.into_iter().zip([-0.015, -0.03]) {
        assert!((found? - expected).abs() < 1e-8);
    }
    let states: Vec<&str> = store
        .names()
        .filter(|n| n.starts_with("optimizer"))
        .collect();
    let expected = [
        "optimizer.critic.mean.b",
        "optimizer.critic.variance.b",
        "optimizer.mean.a",
        "optimizer.variance.a",
    ];
    assert_eq!(states, expected);
    Ok(())
}

#[test]
fn runs_with_an_optimizer_without_a_name_in_files_are_continued() -> Result<()> {
    let place = tempfile::tempdir().map_err(Error::other)?;
    let data = synthetic::digits_of(0, 64, 16);
    let settings = |epochs| Settings {
        epochs,
        time_steps: 2,
        batch_size: 16,
        schedule: LrSchedule::default(),
        ..Settings::default()
    };
    let net = || {
        Sequential::new()
            .add(Flatten)
            .add(Linear::new(784, 10).bias(false))
    };
    let scores = net();
    let step = Step::new(|cx, inputs| {
        let scores = scores.forward(cx, &inputs["images"].repeat_over_time(1))?;
        Ok(Outputs::loss(loss::cross_entropy(
            &scores.mean(&[0]),
            &inputs["labels"],
        )))
    })
    .optimizer(RowScaled::default());
    for kind in ["classifier", "step"] {
        let trainer = |epochs| match kind {
            "step" => Trainer::over(step.clone(), settings(epochs)),
            _ => {
                let optimizer: Arc<dyn Optimizer> = Arc::new(RowScaled::default());
                let settings = Settings {
                    optimizer: optimizer.into(),
                    ..settings(epochs)
                };
                Trainer::new(net(), settings)
            }
        };
        let folder = place.path().join(kind);
        trainer(1).folder(&folder).fit(&data)?;
        let report = trainer(2).folder(&folder).resume(true).fit(&data)?;
        assert_eq!(report.history.len(), 2, "{kind}");
    }
    Ok(())
}
