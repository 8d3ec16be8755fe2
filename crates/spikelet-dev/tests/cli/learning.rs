//! Reference cases of learning rules and of conversions to spiking networks (`tests/learning`), through the program: spikes
//! are identical; the rest is compared with the same results in f64 (`tests/learning/f64`), in f64 within 1e-10 of the
//! largest value, in f32 within 8 × the noise of f32 or 1e-5.

use crate::reference::{self, cases, inputs, largest, results, spec};
use serde_json::{Value, json};
use spikelet::graph::Tensor;
use spikelet::tensors::TensorFile;

#[test]
fn every_case_of_learning_gives_its_results_from_inputs_and_constants_alone() {
    let folder = reference::folder("learning");
    let (mut failures, paths) = (vec![], cases(&folder));
    assert!(paths.len() >= 28, "{} cases", paths.len());
    for path in &paths {
        let exact = folder.join("f64").join(path.file_name().expect("a name"));
        let exact = TensorFile::read(&exact).expect("a reference").tensors;
        let noise = &spec(&TensorFile::read(path).expect("a case"))["f32_noise"];
        let (case, spec) = inputs(path);
        for dtype in ["f32", "f64"] {
            let made = results(&case, &spec, &["--dtype", dtype]).tensors;
            let names: Vec<&String> = made.keys().collect();
            assert_eq!(
                names,
                exact.keys().collect::<Vec<_>>(),
                "{}",
                path.display()
            );
            for (name, expected) in &exact {
                let spikes = ["out.s", "out.z"].contains(&name.as_str());
                let share = match dtype {
                    _ if spikes || name.starts_with("out.s.") => 0.0,
                    "f64" => 1e-10,
                    _ => (8.0 * noise[name].as_f64().unwrap_or(0.0)).max(1e-5),
                };
                let (a, b) = (made[name].to_f64(), expected.to_f64());
                let most = share * largest(&b);
                let far = |(x, y): (&f64, &f64)| (x - y).abs() > most || x.is_nan();
                if made[name].shape != expected.shape || a.iter().zip(&b).any(far) {
                    failures.push(format!("{}, {dtype}: {name}", path.display()));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The error of a changed case, which must be refused.
pub fn refused(name: &str, change: impl Fn(&mut TensorFile, &mut Value)) -> String {
    let path = reference::folder("learning").join(format!("{name}.safetensors"));
    let (mut case, mut spec) = inputs(&path);
    change(&mut case, &mut spec);
    reference::refused(&case, &spec, &[])
}

#[test]
fn cases_of_learning_rules_whose_parts_do_not_fit_are_refused_by_name() {
    for (case, constant, value) in [
        ("stdp_linear_single", "tau_pre", json!(0.5)),
        ("stdp_linear_single", "tau_post", json!(-1.0)),
        ("mstdp_scalar_reward", "tau_pre", json!(0.0)),
        ("mstdpet", "tau_trace", json!(-3.0)),
        ("pair_all_hard", "tau_plus", json!(0.0)),
        ("pair_all_hard", "w_max", json!(-1.0)),
        ("stdp_conv2d_single", "dilation", json!([2, 1])),
        ("stdp_conv2d_single", "groups", json!(2)),
        ("eprop_lif", "tau_m", json!(0.0)),
        ("eprop_lif", "tau_out", json!(0.0)),
    ] {
        let message = refused(case, |_, spec| {
            spec["constants"][constant] = value.clone();
        });
        assert!(message.contains(constant), "{case}: {message}");
    }
    for (case, key, value, said) in [
        (
            "stdp_linear_single",
            "f_pre",
            json!({"name": "cubic"}),
            "cubic",
        ),
        (
            "stdp_linear_single",
            "update",
            json!("sometimes"),
            "sometimes",
        ),
        ("stdp_linear_single", "synapse", json!("sparse"), "sparse"),
        ("pair_all_hard", "interaction", json!("none"), "none"),
        ("eprop_lif", "loss", json!("hinge"), "hinge"),
    ] {
        let message = refused(case, |_, spec| spec["constants"][key] = value.clone());
        assert!(message.contains(said), "{case}: {message}");
    }
    for (case, tensor) in [
        ("stdp_linear_single", "in.x"),
        ("stdp_linear_single", "param.weight"),
        ("mstdp_sample_reward_online", "in.reward"),
        ("pair_all_hard", "in.post"),
        ("eprop_lif", "param.w_rec"),
        ("eprop_alif_random_cross_entropy", "param.feedback"),
        ("ottt_two_layers", "param.1.bias"),
        ("sltt_two_layers", "in.label"),
    ] {
        let message = refused(case, |file, _| {
            file.tensors.remove(tensor);
        });
        assert!(message.contains(tensor), "{case}: {message}");
        refused(case, |file, _| {
            let other = Tensor::f32([1, 7, 1], [0.5; 7]);
            file.tensors.insert(tensor.to_string(), other);
        });
    }
}
