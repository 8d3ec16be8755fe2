//! Reference cases of recurrent layers and networks (`tests/recurrent`), through the program: spikes are identical;
//! the rest is compared with the f64 reference, in f32 within 8 × the noise of f32 or 1e-5 of the largest value, in f64
//! within 1e-10.

use crate::reference::{self, cases, is_expected, largest, results, whole};
use serde_json::{Value, json};
use spikelet::graph::{DType, Tensor};
use spikelet::tensors::TensorFile;
use std::path::PathBuf;

fn folder() -> PathBuf {
    reference::folder("recurrent")
}

/// How far a result may be from its reference.
fn tolerance(case: &TensorFile, spec: &Value, name: &str, expected: &[f64], f64s: bool) -> f64 {
    if name.starts_with("out.") && name.rsplit('.').next() == Some("s") {
        return 0.0;
    }
    let zeros = spec["zero_up_to_rounding"].as_array();
    if zeros.is_some_and(|names| names.iter().any(|n| n == name)) {
        let grads = case.tensors.iter().filter(|(n, _)| n.starts_with("grad."));
        return 1e-6 * grads.fold(0.0, |most, (_, t)| largest(&t.to_f64()).max(most));
    }
    let relative = if f64s { 1e-10 } else { 1e-5 };
    // The loss of a layer is a sum that cancels.
    if name == "out.loss" && spec["kind"] == "layer" {
        let terms = case.tensors.iter().filter_map(|(name, grad)| {
            let out = &case.tensors[&format!("out.{}", name.strip_prefix("in.grad_")?)];
            let products = grad.to_f64().into_iter().zip(out.to_f64());
            Some(products.map(|(a, b)| (a * b).abs()).sum::<f64>())
        });
        return relative * terms.sum::<f64>();
    }
    let noise = spec["f32_noise"][name].as_f64().unwrap_or(0.0);
    let share = if f64s {
        relative
    } else {
        relative.max(8.0 * noise)
    };
    share * largest(expected)
}

#[test]
fn every_recurrent_case_gives_its_results_without_reading_them() {
    let (mut failures, paths) = (vec![], cases(&folder()));
    assert!(paths.len() > 30, "{} cases", paths.len());
    for path in &paths {
        let case = TensorFile::read(path).expect("a case");
        let (inputs, spec) = whole(path);
        for dtype in ["f32", "f64"] {
            let made = results(&inputs, &spec, &["--dtype", dtype]);
            for (name, expected) in case.tensors.iter().filter(|(name, _)| is_expected(name)) {
                let Some(found) = made.tensors.get(name) else {
                    failures.push(format!("{}, {dtype}: no {name}", path.display()));
                    continue;
                };
                let (a, b) = (found.to_f64(), expected.to_f64());
                let most = tolerance(&case, &spec, name, &b, dtype == "f64");
                let far = |(x, y): (&f64, &f64)| (x - y).abs() > most || x.is_nan();
                if found.shape != expected.shape || a.iter().zip(&b).any(far) {
                    failures.push(format!("{}, {dtype}: {name}", path.display()));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn refused(name: &str, change: impl Fn(&mut TensorFile, &mut Value)) -> String {
    let (mut case, mut spec) = whole(&folder().join(format!("{name}.safetensors")));
    change(&mut case, &mut spec);
    reference::refused(&case, &spec, &[])
}

#[test]
fn recurrent_cases_whose_parts_do_not_fit_are_refused() {
    for (key, value) in [
        ("family", json!("unknown")),
        ("kind", json!("neuron")),
        ("neuron", json!("LIFF")),
        ("constants", json!({"threshold": "high"})),
        ("f32_noise", json!({"out.nothing": 0.0})),
        ("f32_noise", json!({"grad.nothing": 0.0})),
    ] {
        refused("sparch_lif_none", |_, spec| spec[key] = value.clone());
    }
    for name in [
        "in.x",
        "in.grad_s",
        "param.W.weight",
        "param.alpha",
        "init.u",
    ] {
        let message = refused("sparch_lif_none", |case, _| {
            case.tensors.remove(name);
        });
        let short = name.rsplit('.').next().unwrap_or(name);
        assert!(message.contains(short), "{name}: {message}");
        refused("sparch_lif_none", |case, _| {
            case.tensors
                .insert(name.to_string(), Tensor::f32([1, 7], [0.0; 7]));
        });
    }
    let label = |values: [i64; 3]| Tensor::i64([3], values);
    refused("seadlif_net_se_mean", |case, _| {
        case.tensors
            .insert("in.label".to_string(), label([0, 5, 1]));
    });
    refused("seadlif_net_se_mean", |case, _| {
        let idle = Tensor::i64([24, 3], [0; 72]);
        case.tensors.insert("in.block_idx".to_string(), idle);
    });
    refused("sj_container_hard_bias", |case, _| {
        let weight = case.tensors["param.rc.weight"].to_f64()[..13 * 20].to_vec();
        let weight = Tensor::f64([13, 20], weight).cast(DType::F32);
        case.tensors.insert("param.rc.weight".to_string(), weight);
    });
    refused("yin_alif_net", |_, spec| {
        spec["constants"]["skip"] = json!(24)
    });
    for (name, key, value) in [
        ("dcls_gauss_train", "version", json!("cubic")),
        ("dcls_gauss_train", "K", json!(0)),
        ("dcls_gauss_train", "K", json!(1_000_000)),
        ("dcls_gauss_train", "left", json!(1_000_000_000_000_u64)),
        ("delay_channel_linear", "kernel", json!("cubic")),
        ("delay_channel_linear", "max_delay", json!(-1)),
        ("delay_channel_linear", "max_delay", json!(u64::MAX)),
        ("delrec_axonal_atan", "sigma", json!(1e9)),
        ("delrec_axonal_atan", "surrogate", json!("none")),
    ] {
        refused(name, |_, spec| spec["constants"][key] = value.clone());
    }
    for (name, tensor) in [
        ("dcls_gauss_train", "param.P"),
        ("dcls_gauss_train", "param.SIG@fixed"),
        ("snn_delays_net_eval", "param.1.P"),
        ("snn_delays_net_train", "in.label"),
        ("delay_channel_gaussian", "param.delay"),
        ("delrec_axonal_atan", "param.recurrent_delays"),
        ("delrec_synaptic_atan", "param.recurrent_weights"),
        ("delrec_net_shd", "param.1.recurrent_delays"),
    ] {
        refused(name, |case, _| {
            case.tensors.remove(tensor);
        });
        refused(name, |case, _| {
            let other = Tensor::f32([1, 7], [0.5, f32::NAN, 1.0, 1e30, 0.0, -1.0, 2.0]);
            case.tensors.insert(tensor.to_string(), other);
        });
    }
    refused("snn_rleaky_all_zero", |_, spec| {
        spec["constants"]["reset_mechanism"] = json!("half");
    });
}
