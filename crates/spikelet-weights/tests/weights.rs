//! Checkpoints of frameworks in all formats, hostile ones, and what is written.

use crate::common;

use std::fs;

use common::{archive, bytes, files, fixture, json, members};
use safetensors::SafeTensors;
use spikelet_weights::{Dtype, Expected, NameMap, Tensor, WeightOptions, Weights};

fn read(file: &str) -> Weights {
    Weights::read(fixture("weights").join(file)).unwrap()
}

/// The tensors as the crate `safetensors` reads them: name, type, shape, bytes; sorted.
type Tensors = Vec<(String, String, Vec<usize>, Vec<u8>)>;

fn reference(bytes: &[u8]) -> Tensors {
    let file = SafeTensors::deserialize(bytes).unwrap();
    let tensors = file.tensors().into_iter().map(|(name, tensor)| {
        let (dtype, shape) = (tensor.dtype().to_string(), tensor.shape().to_vec());
        (name, dtype, shape, tensor.data().to_vec())
    });
    let mut tensors: Tensors = tensors.collect();
    tensors.sort();
    tensors
}

fn own(weights: &Weights) -> Tensors {
    let tensors = weights.iter().map(|(name, tensor)| {
        let dtype = tensor.dtype().name().to_owned();
        (
            name.to_owned(),
            dtype,
            tensor.shape().to_vec(),
            tensor.bytes().to_vec(),
        )
    });
    let mut tensors: Tensors = tensors.collect();
    tensors.sort();
    tensors
}

#[test]
fn all_formats_and_containers_hold_the_same_tensors() {
    let expected = reference(&bytes(&fixture("weights/spikingjelly_csnn.safetensors")));
    assert_eq!(expected.len(), 16);
    for file in [
        "spikingjelly_csnn.pt",
        "spikingjelly_csnn.safetensors",
        "container_net.pth",
        "container_model_module.pth",
        "container_lightning.ckpt",
        "container_model_state_dict.tar",
        "legacy_stream.pt",
        "legacy_tar.pt",
        "protocol4.pt",
        "plain_dict.pt",
        "parameters.pt",
        "rezipped_deflate.pt",
        "big_endian.pt",
    ] {
        let mut weights = read(file);
        assert_eq!(
            weights.strip_module(),
            file == "container_model_module.pth",
            "{file}"
        );
        if file == "container_lightning.ckpt" {
            weights.strip_prefix("net.").unwrap();
        }
        assert!(own(&weights) == expected, "{file}");
    }
}

/// A checkpoint `{prefix: {"0": tensor, "1": tensor, …}}` of `count` names of one tensor.
fn nested_names(prefix: usize, count: usize) -> Vec<u8> {
    let text = |text: &str| {
        let len = (text.len() as u32).to_le_bytes();
        [b"X", &len[..], text.as_bytes()].concat()
    };
    let mut pickle = b"\x80\x02}".to_vec();
    pickle.extend(text(&"k".repeat(prefix)));
    // The dictionary in it, with the tensor as its first value.
    pickle.extend(b"}(");
    pickle.extend(text("0"));
    pickle.extend(b"ctorch._utils\n_rebuild_tensor_v2\n((");
    pickle.extend(text("storage"));
    pickle.extend(b"ctorch\nFloatStorage\n");
    pickle.extend(
        [
            text("0"),
            text("cpu"),
            b"K\x01tQK\x00K\x01\x85K\x01\x85\x89".to_vec(),
        ]
        .concat(),
    );
    pickle.extend(b"ccollections\nOrderedDict\n)RtRq\x00");
    for at in 1..count {
        pickle.extend([text(&at.to_string()), b"h\x00".to_vec()].concat());
    }
    pickle.extend(b"us.");
    archive(&[
        ("a/data.pkl", pickle),
        ("a/data/0", 1.5_f32.to_le_bytes().to_vec()),
        ("a/version", b"3\n".to_vec()),
    ])
}

#[test]
fn names_that_take_more_memory_than_the_file_are_refused() {
    let read = |prefix, count| {
        let options = WeightOptions::default();
        Weights::from_bytes(nested_names(prefix, count), &options)
    };
    let small = read(3, 4).expect("it is sound");
    assert_eq!(small.len(), 4);
    assert!(small.get("kkk.3").is_some());
    for (prefix, count, expected) in [
        (1 << 20, 20_000, "a name of a tensor has more than 4 KiB"),
        (4000, 20_000, "the names of tensors have more than 64 MiB"),
    ] {
        let error = read(prefix, count).expect_err("refused").to_string();
        assert!(error.contains(expected), "{error}");
        assert!(error.len() < 2000, "{} bytes", error.len());
    }
}

#[test]
fn half_and_double_weights_keep_their_type() {
    let whole = read("spikingjelly_csnn.pt");
    for (file, dtype) in [
        ("float16.pt", Dtype::F16),
        ("bfloat16.pt", Dtype::BF16),
        ("float64.pt", Dtype::F64),
    ] {
        let weights = read(file);
        assert_eq!(weights.len(), whole.len());
        for (name, tensor) in weights.iter() {
            let expected = whole.get(name).unwrap();
            if expected.dtype() == Dtype::I64 {
                assert_eq!(tensor, expected, "{file}, {name}");
                continue;
            }
            assert_eq!(tensor.dtype(), dtype, "{file}, {name}");
            for (a, b) in tensor.to_f64().iter().zip(expected.to_f64()) {
                assert!(
                    (a - b).abs() <= b.abs() * 0.01,
                    "{file}, {name}: {a} for {b}"
                );
            }
        }
    }
    let own = own(&read("bfloat16.pt"));
    assert!(own == reference(&bytes(&fixture("weights/bfloat16.safetensors"))));
}

#[test]
fn views_and_all_types_of_elements_are_contiguous() {
    // Floats are F32 in the reference, integers and truth values I64.
    let expected =
        SafeTensors::deserialize(&bytes(&fixture("weights/odd_tensors.expected.safetensors")))
            .map(|file| file.len())
            .unwrap();
    let reference = read("odd_tensors.expected.safetensors");
    for file in ["odd_tensors.pt", "odd_tensors_legacy.pt"] {
        let weights = read(file);
        assert_eq!(weights.len(), expected, "{file}");
        for (name, tensor) in weights.iter() {
            let expected = reference.get(name).unwrap();
            // The reference has numbers of rank 0 as an array.
            let rank_0 = tensor.shape().is_empty() && expected.shape() == [1];
            assert!(
                rank_0 || tensor.shape() == expected.shape(),
                "{file}, {name}"
            );
            assert_eq!(tensor.to_f64(), expected.to_f64(), "{file}, {name}");
        }
        let dtype = |name: &str| weights.get(name).unwrap().dtype();
        assert_eq!(dtype("half"), Dtype::F16);
        assert_eq!(dtype("int8"), Dtype::I8);
        assert_eq!(dtype("bool"), Dtype::Bool);
        let first = weights.iter().next().unwrap().0;
        assert_eq!(first, "tied_a", "the order of the file is kept");
    }
}

#[test]
fn what_is_beside_the_state_dict_is_passed_over() {
    let weights = read("nested_values.pt");
    assert_eq!(weights.get("w").unwrap().to_f64(), [1.0, 1.0]);
    assert_eq!(weights.len(), 1);
}

#[test]
fn the_state_dict_under_a_key_is_read() {
    let read = |key: &str| {
        let options = WeightOptions {
            state_dict: Some(key.into()),
            ..WeightOptions::default()
        };
        Weights::read_with(fixture("weights/container_net.pth"), &options)
    };
    assert_eq!(read("net").unwrap().len(), 16);
    let error = read("model").unwrap_err().to_string();
    assert!(error.contains("`net` (a dictionary)"), "{error}");
    let error = read("optimizer").unwrap_err().to_string();
    assert!(error.contains("no tensor with a name"), "{error}");
}

#[test]
fn hostile_files_are_refused() {
    let expected = json("hostile/expected.json");
    let mut refused = 0;
    for (name, bytes) in files("hostile", &[".pt", ".safetensors"]) {
        let result = Weights::from_bytes(bytes, &WeightOptions::default());
        let why = &expected[&name]["why"];
        match expected[&name]["expect"].as_str().expect("an expectation") {
            "load" => drop(result.unwrap_or_else(|error| panic!("{name}, {why}: {error}"))),
            "refuse" => {
                let error = result.map(drop).expect_err(&name).to_string();
                assert!(error.contains("\n  help: "), "{name}: {error}");
                refused += 1;
            }
            _ => {}
        }
    }
    assert!(refused > 70, "{refused}");
    assert!(!fs::exists("/tmp/pwned_by_pickle").unwrap());
}

#[test]
fn errors_name_the_function_the_tensor_or_the_record() {
    for (file, word) in [
        ("os_system.pt", "refers to `os.system`"),
        ("dotted_name.pt", "refers to `torch._utils.os.system`"),
        (
            "whole_module.pt",
            "refers to `spikingjelly.activation_based.neuron.LIFNode`",
        ),
        (
            "nested_load.pt",
            "refers to `torch.storage._load_from_bytes`",
        ),
        ("huge_expanded.pt", "tensor `w` takes 4398046511104 bytes"),
        (
            "storage_longer.pt",
            "tensor `w`: its storage `0` has 16 bytes",
        ),
        (
            "storage_path.pt",
            "tensor `w`: its storage `../../../../etc/passwd` is not in the file",
        ),
        (
            "out_of_storage.pt",
            "offset 1 does not fit into its storage of 4 elements",
        ),
        ("unknown_storage.pt", "torch.QInt8Storage"),
        (
            "data_pkl_twice.pt",
            "`archive/data.pkl`: the archive has two records",
        ),
        ("two_folders.pt", "`archive/data.pkl` and `other/data.pkl`"),
        ("zip_crc.pt", "`archive/data/0`: its checksum is wrong"),
        ("just_a_list.pt", "a list"),
        ("st_overlap.safetensors", "tensor `v`"),
        ("st_twice.safetensors", "`w` occurs twice"),
        (
            "st_dtype.safetensors",
            "tensor `w`: the type F128 is unknown",
        ),
    ] {
        let error = Weights::read(fixture("hostile").join(file))
            .unwrap_err()
            .to_string();
        assert!(error.contains(word), "{file}: {error}");
        assert!(
            error.starts_with(fixture("hostile").join(file).to_str().unwrap()),
            "{error}"
        );
    }
}

#[test]
fn written_files_hold_the_same_tensors() {
    let folder = tempfile::tempdir().unwrap();
    for (name, _) in files("weights", &[".pt", ".safetensors", ".ckpt", ".pth"]) {
        let weights = read(&name);
        let path = folder.path().join("weights.safetensors");
        weights.write_safetensors(&path).unwrap();
        let written = fs::read(&path).unwrap();
        assert!(own(&weights) == reference(&written), "{name}");
        assert!(
            own(&Weights::read(&path).unwrap()) == own(&weights),
            "{name}"
        );
        let path = folder.path().join("weights.pt");
        weights.write_torch(&path).unwrap();
        let again = Weights::read(&path).unwrap();
        // The order stays, too.
        assert!(again.iter().eq(weights.iter()), "{name}");
        let first = fs::read(&path).unwrap();
        again.write_torch(&path).unwrap();
        assert!(fs::read(&path).unwrap() == first, "{name}");
    }
}

#[test]
fn every_type_of_elements_is_written_and_read() {
    let mut weights = Weights::default();
    for dtype in Dtype::ALL {
        let bytes = vec![1; 6 * dtype.bytes()];
        weights
            .insert(dtype.name(), Tensor::new(dtype, vec![2, 3], bytes).unwrap())
            .unwrap();
        let empty = Tensor::new(dtype, vec![0, 4], vec![]).unwrap();
        weights.insert(&format!("empty.{dtype}"), empty).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("weights");
    weights.write_torch(&path).unwrap();
    assert_eq!(Weights::read(&path).unwrap(), weights);
    weights.write_safetensors(&path).unwrap();
    assert!(own(&Weights::read(&path).unwrap()) == own(&weights));
}

fn npy(descr: &str, fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header =
        format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\0".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.bytes());
    bytes.extend(data);
    bytes
}

#[test]
fn archives_of_numpy_are_read() {
    let file = archive(&[
        ("w.npy", npy("|u1", "False", "(2, 3)", &[0, 1, 2, 3, 4, 5])),
        (
            "columns.npy",
            npy("|u1", "True", "(2, 3)", &[0, 1, 2, 3, 4, 5]),
        ),
        ("big.npy", npy(">i2", "False", "(2,)", &[1, 0, 0, 2])),
        ("yes.npy", npy("|b1", "False", "()", &[1])),
    ]);
    let weights = Weights::from_bytes(file, &WeightOptions::default()).unwrap();
    let values = |name: &str| weights.get(name).unwrap().to_f64();
    assert_eq!(values("w"), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(values("columns"), [0.0, 2.0, 4.0, 1.0, 3.0, 5.0]);
    assert_eq!(values("big"), [256.0, 2.0]);
    assert_eq!(weights.get("yes").unwrap().dtype(), Dtype::Bool);
    let error = |member: Vec<u8>| {
        let file = archive(&[("w.npy", member)]);
        Weights::from_bytes(file, &WeightOptions::default())
            .unwrap_err()
            .to_string()
    };
    let found = error(npy("|O", "False", "(1,)", &[0]));
    assert!(
        found.contains("tensor `w`: an array of Python objects"),
        "{found}"
    );
    let found = error(npy("<f8", "False", "(1000000,)", &[0; 8]));
    assert!(
        found.contains("takes 8000000 bytes; 8 are there"),
        "{found}"
    );
}

#[test]
fn names_of_another_framework_are_matched() {
    let weights = read("snntorch_conv.pt");
    let map = NameMap::default()
        .rename("lif2.recurrent", "recurrent.feedback")
        .ignore("num_batches_tracked")
        .ignore("graded_spikes_factor")
        .ignore("reset_mechanism_val");
    let network = [
        Expected::new("conv1.weight", [4, 1, 5, 5]),
        Expected::new("recurrent.feedback.weight", [6, 6]),
        Expected::new("fc.weight", [16, 6]),
        Expected::new("head.bias", [6]),
    ];
    let found = weights.match_names(&network, &map);
    assert_eq!(found.pairs.len(), 2);
    assert_eq!(found.pairs[1].1, "lif2.recurrent.weight");
    let text = found.to_string();
    assert!(
        text.contains("missing: `head.bias` [6] (perhaps `fc.bias`)"),
        "{text}"
    );
    assert!(
        text.contains("of another shape: `fc.weight` [6, 16] for `fc.weight` [16, 6]"),
        "{text}"
    );
    assert!(
        text.contains("left over: ") && text.contains("`lif1.beta`"),
        "{text}"
    );
    assert!(!text.contains("num_batches_tracked"), "{text}");
    let error = weights.clone().renamed(&found).unwrap_err().to_string();
    assert!(error.contains("missing: `head.bias`"), "{error}");

    let found = weights.match_names(&network[..2], &map);
    assert!(found.is_loadable() && !found.is_complete());
    let renamed = weights.renamed(&found).unwrap();
    let names: Vec<&str> = renamed.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["conv1.weight", "recurrent.feedback.weight"]);
}

#[test]
fn names_that_become_the_same_are_ambiguous() {
    let mut weights = Weights::default();
    let one = || Tensor::from_f32(&[1], &[1.0]).unwrap();
    weights.insert("fc.bias", one()).unwrap();
    weights.insert("module.fc.bias", one()).unwrap();
    assert!(weights.insert("fc.bias", one()).is_err());
    assert!(!weights.strip_module());
    let error = weights.strip_prefix("module.").unwrap_err().to_string();
    assert!(
        error.contains("`module.fc.bias` would have the name `fc.bias`"),
        "{error}"
    );
    let error = weights.strip_prefix("net.").unwrap_err().to_string();
    assert!(
        error.contains("no name begins with `net.`; names are `fc.bias`"),
        "{error}"
    );
    let map = NameMap::default().strip_prefix("module.");
    let found = weights.match_names(&[Expected::new("fc.bias", [1])], &map);
    assert_eq!(
        found.to_string(),
        "ambiguous: `fc.bias` (`fc.bias`, `module.fc.bias`)"
    );
}

#[test]
fn arrays_of_numpy_are_written_with_names_shapes_and_types() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("weights.npz");
    let mut weights = Weights::read(fixture("weights/odd_tensors.pt")).unwrap();
    let error = weights.write_npz(&path).unwrap_err().to_string();
    assert!(
        error.contains("tensor `bfloat`: its elements are BF16"),
        "{error}"
    );
    assert!(!path.exists());
    weights.remove("bfloat");
    weights.write_npz(&path).unwrap();
    assert_eq!(Weights::read(&path).unwrap(), weights);
    // Elements are aligned, as NumPy's own are.
    let stored = members(&fs::read(&path).unwrap());
    assert!(stored.iter().all(|(name, bytes)| name.ends_with(".npy")
        && usize::from(u16::from_le_bytes([bytes[8], bytes[9]])) % 64 == 54));

    let axes = vec![1; 65];
    let deep = Tensor::from_f32(&axes, &[0.5]).unwrap();
    let mut weights = Weights::default();
    weights.insert("deep", deep).unwrap();
    let error = weights.write_npz(&path).unwrap_err().to_string();
    assert!(error.contains("it has 65 axes"), "{error}");
}
