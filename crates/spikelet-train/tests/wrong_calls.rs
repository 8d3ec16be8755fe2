//! Wrong calls: each is answered with the thing, what was given or expected, and what to do.

use spikelet_data::{
    Batch, BatchTensor, DataLoader, Dataset, Field, InMemory, LoaderConfig, Split, synthetic,
};
use spikelet_nn::encoder;
use spikelet_train::optim::Clip;
use spikelet_train::penalty::{Penalty, RateBounds};
use spikelet_train::prelude::*;
use spikelet_train::run::checkpoint_file;
use spikelet_train::{
    Checkpoint, Goal, Loaders, Monitor, Outputs, ParameterGroup, Step, device, evaluate,
    given_inputs, metric,
};
use std::sync::Arc;

fn net(outputs: usize) -> Sequential {
    Sequential::new()
        .add(Flatten)
        .add(Linear::new(784, outputs).bias(false))
        .add(Lif::new(2.0))
}

fn settings() -> Settings {
    Settings {
        epochs: 1,
        time_steps: 2,
        batch_size: 16,
        ..Settings::default()
    }
}

fn digits() -> Split {
    synthetic::digits_of(0, 64, 16)
}

fn fit(change: impl FnOnce(&mut Settings)) -> Result<()> {
    let mut changed = settings();
    change(&mut changed);
    Trainer::new(net(10), changed).fit(&digits()).map(drop)
}

fn loader(batch_size: usize) -> DataLoader {
    let config = LoaderConfig {
        batch_size,
        ..LoaderConfig::default()
    };
    DataLoader::new(digits().train, config).expect("a loader")
}

fn store() -> VarStore {
    VarStore::new(device::cpu().expect("a CPU"))
}

/// A step that classifies vectors of three numbers.
fn step() -> Step<'static> {
    let net = Linear::new(3, 4).bias(false);
    Step::new(move |cx, inputs| {
        let scores = net.forward(cx, &inputs["x"].unsqueeze(0))?.mean(&[0]);
        let loss = loss::cross_entropy(&scores, &inputs["labels"]);
        Ok(Outputs::loss(loss).metric("accuracy", metric::accuracy(&scores, &inputs["labels"])))
    })
    .batch_size(2)
    .input("x", DType::F32, [3])
    .input("labels", DType::I64, [])
    .optimizer(Adam::new(1e-2))
}

fn compile(step: &Step<'_>) -> Result<()> {
    step.compile(&mut store()).map(drop)
}

fn run(x: &[f32], labels: &[i64]) -> Result<()> {
    let batch = Batch::new(vec![0, 1])
        .with("x", BatchTensor::f32(&[2, x.len() / 2], x.to_vec()))
        .with("labels", BatchTensor::i64(&[labels.len()], labels.to_vec()));
    step().compile(&mut store())?.run_batch(&batch).map(drop)
}

/// A step whose function returns this.
fn returning(outputs: fn(&Var) -> Outputs) -> Result<()> {
    let net = Linear::new(3, 4).bias(false);
    let step = Step::new(|cx, inputs| Ok(outputs(&net.forward(cx, &inputs["x"].unsqueeze(0))?)))
        .input("x", DType::F32, [3])
        .optimizer(Adam::default());
    compile(&step)
}

#[test]
fn wrong_calls_are_answered_with_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("text.safetensors"), "text").expect("a file");
    let mut trained = store();
    let compiled = step().compile(&mut trained).expect("a step");
    compiled
        .save(&trained, at("weights.safetensors"))
        .expect("a file");
    Trainer::new(net(10), settings())
        .folder(at("run"))
        .fit(&digits())
        .expect("a run");
    let values = || InMemory::new("values").with(Field::new("x", DType::F32, [4]), vec![0.5; 400]);
    let events = || {
        InMemory::new("lengths").with(
            Field::new("x", DType::F32, [4]).variable_axis(0),
            vec![0.5; 64],
        )
    };
    let sequences = || {
        let x = Field::new("x", DType::F32, [3, 4]).sequence();
        let made = InMemory::new("walks").with(x, vec![0.5; 32 * 12])?;
        made.with(Field::new("labels", DType::I64, []), vec![1_i64; 32])
    };
    let rates = |pattern: &str| {
        let bounds = RateBounds {
            low: 0.0,
            high: 0.5,
        };
        vec![Penalty::new(bounds, pattern, 0.1)]
    };

    let calls: Vec<(&str, Result<()>, &str)> = vec![
        ("no epochs", fit(|s| s.epochs = 0), "epochs"),
        ("no samples", fit(|s| s.batch_size = 0), "batch_size"),
        ("no time steps", fit(|s| s.time_steps = 0), "time_steps"),
        ("a share of 1.5", fit(|s| s.validation = 1.5), "validation"),
        (
            "a rate that is no number",
            fit(|s| s.optimizer = Adam::new(f64::NAN).into()),
            "lr",
        ),
        ("an average of all", fit(|s| s.ema = Some(1.0)), "ema"),
        ("a norm of 0", fit(|s| s.clip_norm = Some(0.0)), "clip_norm"),
        (
            "two ways to clip",
            fit(|s| (s.clip_norm, s.clip_value) = (Some(1.0), Some(1.0))),
            "clip",
        ),
        (
            "an unknown optimizer",
            fit(|s| {
                s.groups = vec![ParameterGroup {
                    optimizer: Some("adan".to_string()),
                    ..ParameterGroup::new("*")
                }];
            }),
            "adan",
        ),
        (
            "a group of no parameter",
            fit(|s| s.groups = vec![ParameterGroup::new("7.*")]),
            "7.*",
        ),
        ("a wrong pattern", fit(|s| s.penalties = rates("[")), "["),
        (
            "a penalty of no layer",
            fit(|s| s.penalties = rates("conv*")),
            "conv*",
        ),
        (
            "too little memory",
            fit(|s| s.memory_budget = Some("1KiB".parse().expect("bytes"))),
            "memory",
        ),
        (
            "an unknown monitor",
            Trainer::new(net(10), settings())
                .monitor("f1", Goal::Maximize)
                .fit(&digits())
                .map(drop),
            "f1",
        ),
        (
            "layers that are not there",
            Trainer::new(net(10), settings())
                .monitor_layers(Monitor::Rate, "conv*")
                .fit(&digits())
                .map(drop),
            "conv*",
        ),
        (
            "patience without validation",
            Trainer::new(
                net(10),
                Settings {
                    validation: 0.0,
                    ..settings()
                },
            )
            .early_stopping(2)
            .fit(&digits())
            .map(drop),
            "validation",
        ),
        (
            "nine scores",
            Trainer::new(net(9), settings()).fit(&digits()).map(drop),
            "classes",
        ),
        (
            "another size",
            Trainer::new(Linear::new(7, 10).bias(false), settings())
                .fit(&digits())
                .map(drop),
            "7",
        ),
        (
            "values for a classifier",
            values().map_err(Error::from).and_then(|data| {
                let data: Arc<dyn Dataset> = Arc::new(data);
                Trainer::new(net(10), settings()).fit(&data).map(drop)
            }),
            "images",
        ),
        (
            "an encoder for sequences",
            sequences().map_err(Error::from).and_then(|data| {
                let data: Arc<dyn Dataset> = Arc::new(data);
                let own = Settings {
                    encoder: encoder::Poisson.into(),
                    time_steps: 3,
                    ..settings()
                };
                Trainer::new(Linear::new(4, 2).bias(false), own)
                    .fit(&data)
                    .map(drop)
            }),
            "encoder",
        ),
        (
            "another batch size",
            Trainer::new(net(10), settings())
                .fit(&Loaders::new(loader(8)))
                .map(drop),
            "batch size",
        ),
        (
            "a batch of more samples than there are",
            fit(|s| s.batch_size = 1000),
            "1000",
        ),
        (
            "a folder with a run",
            Trainer::new(net(10), settings())
                .folder(at("run"))
                .fit(&digits())
                .map(drop),
            "run",
        ),
        (
            "nothing to resume",
            Trainer::new(net(10), settings())
                .folder(at("new"))
                .resume(true)
                .fit(&digits())
                .map(drop),
            "checkpoint",
        ),
        (
            "another run to resume",
            Trainer::new(
                net(10),
                Settings {
                    seed: 3,
                    ..settings()
                },
            )
            .folder(at("run"))
            .resume(true)
            .fit(&digits())
            .map(drop),
            "seed",
        ),
        (
            "weights of another network",
            Trainer::new(net(10), settings())
                .init_from(at("weights.safetensors"))
                .fit(&digits())
                .map(drop),
            "weight",
        ),
        (
            "weights that are not there",
            Checkpoint::read(at("nothing")).map(drop),
            "nothing",
        ),
        (
            "a text as a checkpoint",
            Checkpoint::read(at("text.safetensors")).map(drop),
            "text",
        ),
        (
            "an empty folder",
            checkpoint_file(folder.path()).map(drop),
            "checkpoint",
        ),
        (
            "a model without a name",
            checkpoint_file("hf://nobody").map(drop),
            "hf://",
        ),
        (
            "an unknown device",
            device::find("abacus", 0).map(drop),
            "abacus",
        ),
        (
            "no optimizer",
            {
                let net = Linear::new(3, 4).bias(false);
                let bare = Step::new(|cx, inputs| {
                    Ok(net.forward(cx, &inputs["x"].unsqueeze(0))?.mean_all())
                })
                .input("x", DType::F32, [3]);
                compile(&bare)
            },
            "optimizer",
        ),
        ("nothing to train", compile(&step().freeze("*")), "frozen"),
        (
            "a pattern of no parameter",
            compile(&step().freeze("conv.*")),
            "conv.*",
        ),
        ("no clipping", compile(&step().clip(Clip::Value(0.0))), "0"),
        (
            "a loss of many elements",
            returning(|y| Outputs::loss(y)),
            "mean_all",
        ),
        (
            "a metric named loss",
            returning(|y| Outputs::loss(y.mean_all()).metric("loss", y.mean_all())),
            "loss",
        ),
        (
            "an unknown input",
            {
                let net = Linear::new(3, 4).bias(false);
                let other = Step::new(|cx, inputs| Ok(net.forward(cx, &inputs["y"])?.mean_all()))
                    .input("x", DType::F32, [3])
                    .optimizer(Adam::default());
                compile(&other)
            },
            "it has x",
        ),
        ("vectors of another length", run(&[0.5; 8], &[0, 1]), "x"),
        ("three labels", run(&[0.5; 6], &[0, 1, 2]), "labels"),
        ("a label without a class", run(&[0.5; 6], &[0, 7]), "7"),
        (
            "a field whose size varies",
            events().map_err(Error::from).and_then(|data| {
                let loader = DataLoader::new(Arc::new(data), LoaderConfig::default())?;
                Step::from_loader(&loader, |_, inputs| Ok(inputs["x"].mean_all())).map(drop)
            }),
            "with_lengths",
        ),
        (
            "weights that differ",
            compiled.load(&mut trained, at("run"), true, &[]).map(drop),
            "weight",
        ),
        (
            "no weights in common",
            compiled.load(&mut trained, at("run"), false, &[]).map(drop),
            "weight",
        ),
        (
            "inputs without samples",
            given_inputs("given", &Tensor::f32([3], vec![0.5; 3]), None).map(drop),
            "[T, N, …]",
        ),
        (
            "values for an evaluation",
            values().map_err(Error::from).and_then(|data| {
                let data: Arc<dyn Dataset> = Arc::new(data);
                evaluate(&net(10), &settings(), &data, &mut store()).map(drop)
            }),
            "images",
        ),
    ];
    assert!(calls.len() >= 40, "{}", calls.len());
    let mut wrong = vec![];
    for (name, result, expected) in calls {
        match result {
            Ok(()) => wrong.push(format!("{name}: it is accepted")),
            Err(error) => {
                let text = error.to_string();
                if !(text.contains(expected) && text.contains("help:")) {
                    wrong.push(format!("{name}: {text}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
