//! Graphs of the Python package and of frameworks: what h5py and `nir` find in them, and what is written again.

use crate::common;

use common::{files, json};
use serde_json::Value;
use sha2::{Digest, Sha256};
use spikelet_nir::{
    Graph, Limits, Metadata, MetadataValue, NodeKind, Parameter, Sizes, Tensor, WriteOptions,
    check_file,
};

/// Files that are no graphs, graphs that are wrong, and a file with structures that are not read.
const REFUSED: [&str; 3] = [
    "data.nir",
    "other_writer.nir",
    "paper_braille_broken_subgraph.nir",
];

fn read(bytes: &[u8]) -> Result<Graph, spikelet_nir::Error> {
    let graph = Graph::from_bytes(bytes.to_vec(), &Limits::default())?;
    graph.check()?;
    Ok(graph)
}

/// What a file holds at a path of HDF5.
#[derive(Debug)]
enum Found {
    Tensor(Tensor),
    Words(Vec<String>),
}

/// All datasets of a graph, as its file has them.
fn datasets(graph: &Graph, prefix: &str, found: &mut Vec<(String, Found)>) {
    found.push((
        format!("{prefix}/type"),
        Found::Words(vec!["NIRGraph".into()]),
    ));
    let ends = graph
        .edges
        .iter()
        .flat_map(|edge| [edge.from.clone(), edge.to.clone()]);
    found.push((format!("{prefix}/edges"), Found::Words(ends.collect())));
    metadata(&graph.metadata, &format!("{prefix}/metadata"), found);
    for (name, node) in &graph.nodes {
        let path = format!("{prefix}/nodes/{name}");
        if let NodeKind::Graph(inner) = &node.kind {
            datasets(inner, &path, found);
            continue;
        }
        found.push((
            format!("{path}/type"),
            Found::Words(vec![node.kind.name().into()]),
        ));
        metadata(&node.metadata, &format!("{path}/metadata"), found);
        for (name, parameter) in node.kind.parameters() {
            let integers = |shape: &[usize], values: &[i64]| {
                Found::Tensor(Tensor::from_i64(shape, values).unwrap())
            };
            let value = match parameter {
                Parameter::Tensor(tensor) => Found::Tensor(tensor.clone()),
                Parameter::Sizes(Sizes::All(size)) => integers(&[], &[*size]),
                Parameter::Sizes(Sizes::Each(sizes)) => integers(&[sizes.len()], sizes),
                Parameter::Shape(shape) => {
                    let sizes: Vec<i64> = shape.iter().map(|&size| size as i64).collect();
                    integers(&[sizes.len()], &sizes)
                }
                Parameter::Integer(value) => integers(&[], &[value]),
                Parameter::Text(word) => Found::Words(vec![word.into()]),
            };
            found.push((format!("{path}/{name}"), value));
        }
    }
}

fn metadata(values: &Metadata, prefix: &str, found: &mut Vec<(String, Found)>) {
    for (name, value) in values {
        let path = format!("{prefix}/{name}");
        match value {
            MetadataValue::Group(values) => metadata(values, &path, found),
            MetadataValue::Text(text) => found.push((path, Found::Words(vec![text.clone()]))),
            MetadataValue::Texts { values, .. } => found.push((path, Found::Words(values.clone()))),
            MetadataValue::Tensor(tensor) => found.push((path, Found::Tensor(tensor.clone()))),
        }
    }
}

/// The leaves of nested lists.
fn leaves(value: &Value) -> Vec<Value> {
    match value {
        Value::Array(values) => values.iter().flat_map(leaves).collect(),
        value => vec![value.clone()],
    }
}

fn check_dataset(place: &str, found: &Found, expected: &Value) {
    let (tensor, is) = match (found, expected["is"].as_str().expect("a description")) {
        (Found::Words(words), is) => {
            let expected: Vec<String> = leaves(&expected["values"])
                .iter()
                .map(|word| word.as_str().expect("a word").to_owned())
                .collect();
            assert!(
                is.starts_with("string") || words.is_empty(),
                "{place}: {is}"
            );
            assert_eq!(words, &expected, "{place}");
            return;
        }
        (Found::Tensor(tensor), is) => (tensor, is.trim_start_matches("big-endian ")),
    };
    let dtype = match is.split(' ').next().expect("a type") {
        "float16" => "F16",
        "float32" => "F32",
        "float64" => "F64",
        "int64" => "I64",
        "int8" => "I8",
        "uint16" => "U16",
        "bool" => "BOOL",
        other => panic!("{place}: {other}"),
    };
    assert_eq!(tensor.dtype().name(), dtype, "{place}");
    assert!(
        is.contains(&format!("{:?}", tensor.shape())),
        "{place}: {is}"
    );
    if let Some(digest) = expected["sha256"].as_str() {
        let own: String = Sha256::digest(tensor.bytes())
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(own, digest, "{place}");
        return;
    }
    let number = |value: &Value| match value {
        Value::Bool(value) => f64::from(u8::from(*value)),
        Value::String(text) => text.parse().expect("a number"),
        value => value.as_f64().expect("a number"),
    };
    let values: Vec<f64> = leaves(&expected["values"]).iter().map(number).collect();
    assert_eq!(tensor.to_f64(), values, "{place}");
}

#[test]
fn every_dataset_has_the_values_that_h5py_reads() {
    let expected = json("golden/expected.json.gz");
    let mut count = 0;
    for (name, bytes) in files("golden", &[".nir"]) {
        let Ok(graph) = read(&bytes) else {
            assert!(REFUSED.contains(&name.as_str()), "{name}");
            continue;
        };
        let mut found = vec![];
        datasets(&graph, "/node", &mut found);
        let objects = expected[&name]["hdf5"].as_object().expect("objects");
        if objects.contains_key("left out") {
            continue;
        }
        for (path, value) in &found {
            let object = objects
                .get(path)
                .unwrap_or_else(|| panic!("{name}{path} is not in the file"));
            check_dataset(&format!("{name}{path}"), value, object);
        }
        // Everything but the version.
        assert_eq!(found.len() + 1, objects.len(), "{name}");
        count += found.len();
    }
    assert!(count > 1000, "{count}");
}

#[test]
fn what_is_written_is_read_back_and_has_the_same_bytes_each_time() {
    let mut count = 0;
    for (name, bytes) in files("golden", &[".nir"]) {
        let Ok(graph) = read(&bytes) else { continue };
        count += 1;
        for compression in [None, Some(4), Some(9)] {
            let options = WriteOptions { compression };
            let written = graph.to_bytes(&options).unwrap();
            assert_eq!(read(&written).unwrap(), graph, "{name}");
            let again = read(&written).unwrap().to_bytes(&options).unwrap();
            assert!(written == again, "{name}");
        }
    }
    assert_eq!(count, 52);
}

#[test]
fn shapes_are_those_that_nir_infers_where_it_is_right() {
    let expected = json("golden/expected.json.gz");
    let mut count = 0;
    for (name, bytes) in files("golden", &[".nir"]) {
        if expected[&name]["nir_read"] != "ok" || name == "other_writer.nir" {
            continue;
        }
        let checked = read(&bytes).unwrap().check().unwrap();
        for (path, types) in expected[&name]["types"].as_object().expect("types") {
            let Some(own) = checked.shapes.get(path) else {
                // Graphs in the graph have no shape of their own.
                continue;
            };
            for (own, side) in [(&own.input, "in"), (&own.output, "out")] {
                let sizes: Vec<u64> = leaves(&types[side])
                    .iter()
                    .map(|size| size.as_u64().unwrap())
                    .collect();
                let own: Vec<u64> = own.iter().map(|&size| size as u64).collect();
                assert_eq!(own, sizes, "{name}, {path}, {side}");
                count += 1;
            }
        }
    }
    assert!(count > 400, "{count}");
}

#[test]
fn oblong_kernels_and_groups_have_the_right_shapes() {
    let (_, bytes) = files("golden", &["conv2d_unchecked.nir"]).remove(0);
    let checked = read(&bytes).unwrap().check().unwrap();
    assert!(checked.warnings.is_empty(), "{:?}", checked.warnings);
}

#[test]
fn bad_files_are_refused_with_the_name_of_what_is_wrong() {
    let words = |name: &str| -> &[&str] {
        match name {
            "empty" => &["empty file"],
            "not_hdf5" => &["archive"],
            "truncated" | "truncated_superblock" => &["HDF5"],
            "no_node" => &["`node` is missing"],
            "unknown_type" => &["node `lif`", "`Izhikevich` is unknown"],
            "type_is_number" => &["node `lif`", "`type` is a number"],
            "type_missing" => &["node `lif`", "`type`", "is missing"],
            "tau_missing" | "external_link" => &["node `lif`", "`tau`", "is missing"],
            "extra_parameter" => &["node `lif`", "`tau_rise`"],
            "tau_shape" => &["node `lif`", "`tau` [4]"],
            "tau_zero" => &["node `lif`", "`tau` of neuron 0 is 0"],
            "tau_negative" => &["node `lif`", "`tau` of neuron 0 is -0.01"],
            "tau_nan" => &["node `lif`", "`tau` of neuron 0 is NaN"],
            "weight_shape" => &["`input` -> `w`", "gives [3]", "takes [4]"],
            "weight_is_text" => &["node `w`", "`weight` is a string"],
            "weight_is_group" => &["node `w`", "`weight` is a group"],
            "weight_complex" => &["node `w`", "complex"],
            "edge_to_nowhere" => &["`lif` -> `out`", "no node `out`"],
            "edges_of_three" => &["`edges`", "[2, 3]"],
            "edges_are_numbers" => &["`edges` is numbers"],
            "edges_twice" => &["`input` -> `w`", "twice"],
            "edges_missing" => &["`edges`", "is missing"],
            "slash_in_name" => &["node `a`"],
            "cycle_without_neuron" => &["`a` -> `b`", "state"],
            "same_with_stride" => &["node `c`", "`same`", "[2, 2]"],
            "padding_unknown" => &["node `c`", "`reflect`"],
            "external_storage" => &["lif/tau"],
            "corrupt_chunk" => &["w/weight", "deflate"],
            other => panic!("{other}"),
        }
    };
    let expected = json("bad/expected.json");
    for (name, bytes) in files("bad", &[".nir"]) {
        let result = read(&bytes);
        if expected[&name]["expect"] != "refuse" {
            continue;
        }
        let error = match result {
            Ok(_) => panic!("{name}: {}", expected[&name]["why"]),
            Err(error) => error.to_string(),
        };
        for word in words(name.trim_end_matches(".nir")) {
            assert!(error.contains(word), "{name}: {error}");
        }
        assert!(error.contains("\n  help: "), "{name}: {error}");
    }
}

#[test]
fn doubtful_graphs_are_read_with_warnings() {
    for (name, word) in [
        ("bad/tau_infinite.nir.gz", "`tau` is inf"),
        ("bad/unconnected.nir.gz", "no edge leads to it"),
        (
            "golden/rockpool_mlp.nir.gz",
            "[1, 5, 3] has time or batch in front",
        ),
        (
            "golden/paper_lif_rockpool.nir.gz",
            "[1] comes in, and is used",
        ),
    ] {
        let graph = read(&common::bytes(&common::fixture(name))).unwrap();
        let warnings = graph.check().unwrap().warnings;
        assert!(
            warnings.iter().any(|own| own.to_string().contains(word)),
            "{name}: {warnings:?}"
        );
    }
}

#[test]
fn files_that_are_no_graphs_are_named() {
    let read = |file: &str| {
        let folder = common::fixture("../../../spikelet-weights/tests/fixtures");
        Graph::read(folder.join(file)).unwrap_err().to_string()
    };
    let error = read("weights/spikingjelly_csnn.pt");
    assert!(
        error.contains("this is a PyTorch checkpoint; expected a NIR graph"),
        "{error}"
    );
    let error = read("weights/bfloat16.safetensors");
    assert!(error.contains("this is safetensors"), "{error}");
    let error = read("weights/no_such_file.nir");
    assert!(
        error.contains("no_such_file.nir: cannot open it"),
        "{error}"
    );
}

#[test]
fn a_limit_of_memory_is_kept() {
    let bytes = common::bytes(&common::fixture("bad/deflate_bomb.nir.gz"));
    let limits = Limits {
        bytes: 64 << 20,
        ..Limits::default()
    };
    let error = Graph::from_bytes(bytes, &limits).unwrap_err().to_string();
    assert!(
        error.contains("134217728 bytes; a file of this size may have 67108864"),
        "{error}"
    );
}

#[test]
fn a_check_says_what_a_file_holds() {
    let weights = common::fixture("../../../spikelet-weights/tests/fixtures");
    let check = |file: &str| check_file(weights.join(file)).unwrap().to_string();
    assert_eq!(
        check("weights/float16.pt"),
        "PyTorch checkpoint: 16 tensors, 849 elements"
    );
    let error = check_file(weights.join("hostile/no_tensors.pt"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("`epoch` (an integer)"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.bin");
    std::fs::write(&path, common::bytes(&common::fixture("golden/lif.nir.gz"))).unwrap();
    let text = check_file(&path).unwrap().to_string();
    assert!(
        text.starts_with("HDF5 file (NIR): 4 nodes, 3 edges, 7 tensors"),
        "{text}"
    );
}
