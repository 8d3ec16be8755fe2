//! Wrong cases of conversions to spiking networks; the right ones are among those of `learning`.

use crate::common::mentions;
use crate::learning;
use serde_json::{Value, json};
use spikelet::graph::Tensor;
use spikelet::tensors::TensorFile;

/// Runs a changed case, which must be refused with these words.
fn refused(name: &str, words: &[&str], change: impl Fn(&mut TensorFile, &mut Value)) {
    mentions(&learning::refused(name, change), words);
}

fn set(case: &mut TensorFile, name: &str, tensor: Tensor) {
    case.tensors.insert(name.to_string(), tensor);
}

#[test]
fn constants_that_are_wrong_are_named() {
    for (key, value, word) in [
        ("mode", json!("median"), "`mode` is \"median\""),
        ("mode", json!("100.5%"), "`mode`"),
        ("mode", json!(-0.5), "`mode`"),
        ("mode", json!(null), "`mode`"),
        ("momentum", json!(1.5), "momentum"),
        ("momentum", json!("fast"), "ann2snn"),
        ("eps", json!(0.0), "epsilon"),
        ("T", json!(0), "T"),
        ("T", json!(1_000_000_000_u64), "elements"),
        ("channel_wise", json!(3), "ann2snn"),
        ("layers", json!([["lstm", "fc0", {}]]), "`lstm`"),
        ("layers", json!([["linear", "fc9", {}]]), "param.fc9.weight"),
        (
            "layers",
            json!([["linear", "fc0", {}], ["avgpool", "p", {}]]),
            "`kernel`",
        ),
        (
            "layers",
            json!([["linear", "fc1", {}], ["relu", "act0", {}]]),
            "fc1",
        ),
        ("layers", json!([]), "layers"),
        ("layers", json!([["linear", "fc0", {}]]), "no activation"),
    ] {
        refused("ann2snn_mlp_max", &[word], |_, spec| {
            spec["constants"][key] = value.clone()
        });
    }
    for (key, value) in [("dilation", json!([2, 2])), ("groups", json!(2))] {
        refused("ann2snn_cnn_bn_max", &[key, "conv0"], |_, spec| {
            spec["constants"]["layers"][0][2][key] = value.clone();
        });
    }
    for (key, value) in [("L", json!(0)), ("L", json!(-1)), ("L", json!(1_u64 << 40))] {
        refused("qcfs_l4", &[], |_, spec| {
            spec["constants"][key] = value.clone()
        });
    }
    refused(
        "qcfs_l4",
        &["no kind of learning is called `lstm`"],
        |_, spec| spec["kind"] = json!("lstm"),
    );
    refused("qcfs_l4", &["constants"], |_, spec| {
        spec["constants"] = Value::Null
    });
}

#[test]
fn tensors_that_are_wrong_are_named() {
    for name in [
        "in.x",
        "in.calibration",
        "param.fc0.weight",
        "param.fc2.weight",
    ] {
        refused(
            "ann2snn_mlp_max",
            &[name.trim_start_matches("param.")],
            |case, _| {
                case.tensors.remove(name);
            },
        );
        refused("ann2snn_mlp_max", &[], |case, _| {
            set(case, name, Tensor::f32([3], [1.0; 3]))
        });
    }
    refused("ann2snn_mlp_max", &["act0", "scale 0"], |case, _| {
        set(case, "in.calibration", Tensor::f32([1, 2, 10], [0.0; 20]));
        set(case, "param.fc0.bias", Tensor::f32([12], [-1.0; 12]));
    });
    refused(
        "ann2snn_mlp_max",
        &["fc0.weight", "not finite"],
        |case, _| {
            set(
                case,
                "param.fc0.weight",
                Tensor::f32([12, 10], [f32::INFINITY; 120]),
            );
        },
    );
    refused("ann2snn_cnn_bn_max", &["bn1.running_var"], |case, _| {
        case.tensors.remove("param.bn1.running_var");
    });
    for name in ["in.x", "in.x_seq", "in.grad_ann", "param.lambda"] {
        refused("qcfs_l4", &[name], |case, _| {
            case.tensors.remove(name);
        });
        refused("qcfs_l4", &["in."], |case, _| {
            set(case, "in.x_seq", Tensor::f32([2, 3], [1.0; 6]))
        });
    }
    for lambda in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        refused("qcfs_l4", &["`param.lambda`"], |case, _| {
            set(case, "param.lambda", Tensor::f32([1], [lambda]));
        });
    }
}
