//! `spikelet-dev case …`

use crate::common::{code, complaint, golden, mentions, run, said, said_json, stdout};
use serde_json::json;
use spikelet::graph::{Data, Tensor};
use spikelet::tensors::TensorFile;
use std::path::Path;

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_string_lossy().into_owned()
}

#[test]
fn a_case_is_run_and_compared_with_its_expected_results() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = path(folder.path(), "deep/ours.safetensors");
    for name in [
        "lif_hard_surrogate_atan",
        "plif_T3_N1",
        "softbp_if_hard_sigmoid1",
    ] {
        let case = golden(name);
        let told = &said_json(&["case", "run", "--case", &case, "--out", &out])[0];
        assert!(told["tensors"]["grad_x_seq"].is_array(), "{told}");
        let made = TensorFile::read(Path::new(&out)).expect("a tensor file");
        assert!(made.metadata.contains_key("spec"));
        let close = ["case", "diff", &out, &case, "--tolerance", "1e-5"];
        assert!(said(&close).contains("within"), "{name}");
    }
    // Any number of threads gives the same bits.
    let case = golden("lif_hard_surrogate_atan");
    let [one, two] = [path(folder.path(), "1"), path(folder.path(), "2")];
    said(&[
        "case",
        "run",
        "--case",
        &case,
        "--out",
        &one,
        "--threads",
        "1",
        "--device",
        "cpu",
    ]);
    said(&[
        "case",
        "run",
        "--case",
        &case,
        "--out",
        &two,
        "--threads",
        "2",
    ]);
    assert_eq!(said(&["case", "diff", &one, &two]), "4 tensors equal\n");
}

fn write(folder: &Path, name: &str, tensors: &[(&str, Tensor)]) -> String {
    let mut file = TensorFile::default();
    file.tensors.extend(
        tensors
            .iter()
            .map(|(name, tensor)| ((*name).to_string(), tensor.clone())),
    );
    let path = folder.join(name);
    file.write(&path).expect("written");
    path.to_string_lossy().into_owned()
}

#[test]
fn a_difference_is_reported_with_its_first_step_and_neuron() {
    let folder = tempfile::tempdir().expect("a folder");
    let zeros = Tensor::f32([3, 4], [0.0; 12]);
    let mut other = zeros.clone();
    if let Data::F32(values) = &mut other.data {
        values[6] = 0.5;
        values[11] = -2.0;
    }
    let same = Tensor::f32([2], [f32::NAN, 1.0]);
    let a = write(
        folder.path(),
        "a",
        &[
            ("v_seq", zeros.clone()),
            ("s", same.clone()),
            ("only", zeros.clone()),
        ],
    );
    let b = write(folder.path(), "b", &[("v_seq", other), ("s", same)]);

    let output = run(&["case", "diff", &a, &b]);
    assert_eq!(code(&output), 3);
    assert_eq!(
        stdout(&output),
        "v_seq: first at time step 1, neuron 2: 0 and 0.5; 2 elements differ, by at most 2e0\n1 of 2 tensors differ\n"
    );
    let output = run(&["case", "diff", &a, &b, "--tolerance", "0.5", "--json"]);
    assert_eq!(code(&output), 3);
    let first: serde_json::Value =
        serde_json::from_str(stdout(&output).lines().next().expect("a line")).expect("JSON");
    assert_eq!(
        first,
        json!({"tensor": "v_seq", "time_step": 2, "neuron": [3], "values": [0.0, -2.0], "largest": 2.0, "count": 1})
    );
    assert_eq!(
        code(&run(&[
            "case",
            "diff",
            &a,
            &b,
            "--tolerance",
            "2",
            "--quiet"
        ])),
        0
    );

    let narrow = write(
        folder.path(),
        "narrow",
        &[("v_seq", Tensor::f32([3, 2], [0.0; 6]))],
    );
    let output = run(&["case", "diff", &a, &narrow]);
    assert_eq!(code(&output), 3);
    assert!(stdout(&output).starts_with("v_seq: shapes [3, 4] and [3, 2]\n"));
}

#[test]
fn files_without_a_tensor_in_common_cannot_be_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str| {
        let mut file = TensorFile::default();
        file.tensors
            .insert(name.to_string(), Tensor::f32([1], [0.0]));
        let path = folder.path().join(name);
        file.write(&path).expect("written");
        path.to_string_lossy().into_owned()
    };
    let message = complaint(&["case", "diff", &write("left"), &write("right")], 1);
    mentions(&message, &["left", "right"]);
}
