//! State dicts of deep networks by the names of the authors' programs: every tensor has its place, and none is left over.

use serde_json::{Value, json};
use spikelet_core::Result;
use spikelet_graph::DType;
use spikelet_nn::module::{Context, Mode};
use spikelet_nn::network::{Layers, Model};
use spikelet_train::weights::{InitialWeights, Tensor, Weights};
use std::path::Path;

/// The largest network whose values are written and read; of larger ones, names and shapes are compared.
const MOST: usize = 12_000_000;

/// The model of a file of shapes.
fn model(name: &str) -> Result<Model> {
    let words: Vec<&str> = name.split('_').collect();
    let (kind, options): (String, Vec<(&str, Value)>) = match words[..] {
        ["spikformer", depth, dim, data] => {
            let [depth, dim] = [depth, dim].map(|n| n.parse::<usize>().expect("a number"));
            let heads = [(384, 12), (256, 8), (512, 8), (768, 12)];
            let heads = heads
                .iter()
                .find(|(known, _)| *known == dim)
                .expect("known")
                .1;
            let data = data.trim_end_matches("10");
            let options = vec![
                ("depth", json!(depth)),
                ("dim", json!(dim)),
                ("heads", json!(heads)),
            ];
            (format!("spikformer-{data}"), options)
        }
        ["spikformer", ..] => ("spikformer-dvs".to_string(), vec![]),
        ["qkformer", depth, dim, "imagenet"] => {
            let [depth, dim] = [depth, dim].map(|n| n.parse::<usize>().expect("a number"));
            (
                "qkformer-imagenet".to_string(),
                vec![
                    ("depth", json!(depth)),
                    ("dim", json!(dim)),
                    ("heads", json!(dim / 64)),
                ],
            )
        }
        ["qkformer", "cifar100"] => ("qkformer-cifar".to_string(), vec![("classes", json!(100))]),
        ["qkformer", "cifar10"] => ("qkformer-cifar".to_string(), vec![]),
        ["qkformer", "dvs", "gesture"] => {
            ("qkformer-dvs".to_string(), vec![("classes", json!(11))])
        }
        ["qkformer", ..] => ("qkformer-dvs".to_string(), vec![("ratio", json!(1))]),
        ["sdt", depth, dim, data] => {
            let [depth, dim] = [depth, dim].map(|n| n.parse::<usize>().expect("a number"));
            let data = if data == "cifar10" { "cifar" } else { data };
            (
                format!("sdt-{data}"),
                vec![("depth", json!(depth)), ("dim", json!(dim))],
            )
        }
        ["sdt", depth, dim, ..] => {
            let [depth, dim] = [depth, dim].map(|n| n.parse::<usize>().expect("a number"));
            (
                "sdt-cifar10-dvs".to_string(),
                vec![("depth", json!(depth)), ("dim", json!(dim))],
            )
        }
        _ => (name.replace('_', "-"), vec![]),
    };
    options
        .into_iter()
        .try_fold(Model::find(&kind)?, |model, (option, value)| {
            model.with(option, value)
        })
}

/// A tensor's name and shape.
type Named = (String, Vec<usize>);

/// The tensors of a model.
fn traced(layers: &Layers) -> Result<Vec<Named>> {
    let cx = Context::new(Mode::TRAIN, DType::F32);
    let shape = [&[2, 1], &layers.input[..]].concat();
    let x = cx.tracer().input("x", DType::F32, shape);
    cx.trace(&*layers.module()?, x)?;
    let traced = cx.traced();
    let all = traced.parameters.into_iter().chain(traced.buffers);
    Ok(all.map(|tensor| (tensor.name, tensor.shape)).collect())
}

/// The name without the containers of SEW-ResNet.
fn own_name(theirs: &str) -> String {
    let mut own = theirs.replace("downsample.0.module.", "downsample.");
    for k in 1..=3 {
        own = own.replace(&format!("conv{k}.module.0"), &format!("conv{k}"));
        own = own.replace(&format!("conv{k}.module.1"), &format!("bn{k}"));
    }
    own
}

#[test]
fn state_dicts_of_the_authors_have_a_place_for_every_tensor() -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/model_shapes");
    let temporary = tempfile::tempdir().expect("a folder");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("the shapes are there")
        .map(|file| file.expect("readable").path())
        .collect();
    files.sort();
    assert_eq!(files.len(), 41);
    for path in files {
        let name = path.file_stem().expect("a name").to_string_lossy();
        let text = std::fs::read_to_string(&path).expect("readable");
        let shapes: Value = serde_json::from_str(&text).expect("JSON");
        let layers = model(&name)?.layers()?;
        let cost = layers.cost(1)?;
        let count = |key: &str| shapes[key].as_u64().expect("a number") as usize;
        let used = count("parameters") - count("unused");
        assert_eq!(cost.parameters(), used, "{name}");
        let theirs = shapes["tensors"].as_array().expect("a list");
        let shape = |tensor: &Value| -> Vec<usize> {
            serde_json::from_value(tensor[1].clone()).expect("a shape")
        };
        let known = theirs.iter().filter(|tensor| tensor.get(2).is_none());
        let mut expected: Vec<Named> = known
            .map(|tensor| (own_name(tensor[0].as_str().expect("a name")), shape(tensor)))
            .collect();
        let mut own = traced(&layers)?;
        for (_, shape) in expected.iter_mut().chain(&mut own) {
            // A single constant of a layer is `[]` or `[1]`.
            if shape[..] == [1] {
                shape.clear();
            }
        }
        expected.sort();
        own.sort();
        assert_eq!(own, expected, "{name}");
        if used > MOST {
            continue;
        }
        let mut weights = Weights::default();
        for tensor in theirs {
            let shape = shape(tensor);
            let elements: usize = shape.iter().product();
            let values: Vec<f32> = (0..elements).map(|k| (k % 64) as f32 / 64.0).collect();
            let tensor_name = tensor[0].as_str().expect("a name");
            let tensor = Tensor::from_f32(&shape, &values).expect("a tensor");
            weights.insert(tensor_name, tensor).expect("a new name");
        }
        let file = temporary.path().join(format!("{name}.safetensors"));
        weights.write_safetensors(&file).expect("written");
        let input = [&[2, 1], &layers.input[..]].concat();
        let found = InitialWeights::read(&file, &*layers.module()?, &input)?;
        assert_eq!(found.left_over, Vec::<String>::new(), "{name}");
        assert_eq!(found.new_head, Vec::<String>::new(), "{name}");
        assert_eq!(found.tensors.len(), expected.len(), "{name}");
    }
    Ok(())
}
