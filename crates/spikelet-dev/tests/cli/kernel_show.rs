//! `spikelet-dev kernel show`: texts, without a GPU.

use crate::common::{complaint, said, said_json};
use crate::json_page::check;
use spikelet::neuron;
use spikelet::surrogate;

/// `kernel show` with these options.
fn command(options: &str) -> Vec<&str> {
    let verb = ["kernel", "show"].into_iter();
    verb.chain(options.split_whitespace()).collect()
}

fn show(options: &str) -> String {
    said(&command(options))
}

fn refused(options: &str) -> String {
    complaint(&command(options), 2)
}

#[test]
fn only_the_source_of_a_kernel_is_printed() {
    for style in ["auto_cuda", "fused"] {
        for pass in ["fptt", "bptt"] {
            let words = format!("--neuron lif --surrogate sigmoid --style {style} --pass {pass}");
            insta::assert_snapshot!(format!("{style}_lif_{pass}"), show(&words));
        }
    }
}

/// The texts of SpikingJelly's tutorial, in which runs of white space count as one space.
#[test]
fn kernels_of_auto_cuda_are_those_of_the_tutorial() {
    let collapsed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let tutorial =
        include_str!("../../../spikelet-auto-cuda/tests/auto_cuda/reference/if_bptt_float.cu");
    let words = "--neuron if --style auto_cuda --pass bptt";
    assert_eq!(collapsed(&show(words)), tutorial.trim());
    let steeper = show(&format!("{words} --set surrogate.alpha=2.5"));
    assert_eq!(collapsed(&steeper), tutorial.trim().replace("4.0f", "2.5f"));
    let same_bits = show(&format!("{words} --same-bits"));
    assert!(same_bits.contains("= spk_sigmoid("), "{same_bits}");
}

#[test]
fn options_are_reflected_in_the_source() {
    let soft = show("--neuron if --dtype half2 --set v_reset=null");
    assert!(
        soft.contains("void IFNodeFPTTKernel_half2_soft_reset("),
        "{soft}"
    );
    let detached = show("--neuron plif --pass bptt --reset-grad detach");
    assert!(
        detached.contains("void ParametricLIFNodeBPTTKernel_float_hard_reset_detach_reset("),
        "{detached}"
    );
    let undecayed = show("--set decay_input=false");
    assert!(undecayed.contains("temp_var + x_seq[t]"), "{undecayed}");
    let steep = show("--pass bptt --surrogate atan --set surrogate.alpha=3");
    assert_ne!(steep, show("--pass bptt --surrogate atan"));
    let small = show("--style fused --dtype bf16 -T 8 -N 96");
    assert!(
        small.contains("const spk_bf16* __restrict__ x_seq0") && small.contains("if (i >= 96u)"),
        "{small}"
    );
    let half = show("--style fused --dtype half");
    assert_eq!(half, show("--style fused --dtype half2"));
    let on = |arch| show(&format!("--style fused --neurons 60000 --arch {arch}"));
    assert_ne!(
        on("80"),
        on("90"),
        "60,000 neurons fill an A100, and not an H100"
    );
}

#[test]
fn sections_are_marked_on_request() {
    for (style, first) in [("auto_cuda", "declaration"), ("fused", "library")] {
        let marked = show(&format!("--style {style} --markers"));
        let plain = show(&format!("--style {style}"));
        assert!(marked.starts_with(&format!("//------{first} start------\n")));
        let without = marked.lines().filter(|line| !line.starts_with("//------"));
        assert!(without.eq(plain.lines()));
        assert!(!plain.contains("//------"));
    }
}

#[test]
fn json_output_has_the_source_and_its_parameters() {
    let words = ["kernel", "show", "--pass", "bptt", "--set", "tau=4"];
    let shown = &said_json(&words)[0];
    assert_eq!(
        shown["name"],
        "LIFNodeBPTTKernel_float_hard_reset_nodetach_reset"
    );
    assert_eq!(shown["style"], "auto_cuda");
    assert_eq!(shown["source"], said(&words));
    check(&["`spikelet kernel show`"], std::slice::from_ref(shown));
    let parameters = shown["parameters"].as_array().expect("a list");
    assert_eq!(
        parameters[1],
        serde_json::json!({"type": "float &", "name": "decay", "value": 0.25})
    );

    let words = [
        "kernel", "show", "--style", "fused", "-T", "100", "--neuron", "plif",
    ];
    let shown = &said_json(&words)[0];
    check(&["`spikelet kernel show`"], std::slice::from_ref(shown));
    assert_eq!(shown["name"], "spk_plif_fptt");
    assert_eq!(shown["capability"], serde_json::json!([9, 0]));
    assert_eq!(
        (&shown["block"], &shown["grid"][0]),
        (&128.into(), &1024.into())
    );
    let what: Vec<&str> = shown["parameters"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|p| p["what"].as_str())
        .collect();
    assert_eq!(what, ["x", "w", "s", "v after every 16 steps but the last"]);
}

#[test]
fn a_backward_kernel_reads_what_the_forward_one_reads_and_the_checkpoints_of_a_long_layer() {
    let parameters = |options: &str| -> Vec<String> {
        let words = command(options);
        let shown =
            &said_json(&[&words[..], &["--style", "fused", "--neuron", "plif"]].concat())[0];
        let all = shown["parameters"].as_array().into_iter().flatten();
        all.map(|p| format!("{} {}", p["what"].as_str().unwrap_or_default(), p["shape"]))
            .collect()
    };
    assert_eq!(
        parameters("--pass bptt -T 4 -N 100000"),
        [
            "x [4,100000]",
            "w []",
            "dL/ds [4,100000]",
            "dL/dx [4,100000]",
            "dL/dw [100000]",
        ]
    );
    let long = parameters("--pass bptt -T 50 -N 4096 --dtype bf16");
    let checkpoints = "v after every 8 steps but the last [6,4096]";
    assert!(long.iter().any(|p| p == checkpoints), "{long:?}");
}

#[test]
fn the_fused_text_is_that_of_a_networks_plan() {
    use spikelet::graph::Plan;
    use spikelet::prelude::*;
    use spikelet_cuda::{OfflineTarget, Properties};
    let spec = serde_json::json!({"neuron": "plif"});
    let plif = neuron::from_spec(&spec).expect("a neuron");
    let cx = Context::new(Mode::TRAIN, DType::F32);
    let tracer = cx.tracer();
    let x = tracer.input("x", DType::F32, [19, 1 << 17]);
    let loss = cx
        .trace(&plif, x.clone())
        .expect("a layer")
        .square()
        .mean_all();
    let w = tracer.find_input("w").expect("a parameter");
    for (k, grad) in tracer.gradients(&loss, &[&x, &w]).iter().enumerate() {
        tracer.output(&format!("grad{k}"), grad);
    }
    let target = OfflineTarget::new(Properties::large((9, 0)));
    let plan = Plan::new(tracer.finish().expect("a graph"), &target);
    let kernels = target.kernels(&plan).expect("texts");
    for pass in ["fptt", "bptt"] {
        let name = format!("spk_plif_{pass}");
        let kernel = kernels.iter().find(|kernel| kernel.name == name);
        let text = kernel.expect("a kernel of the neuron").full_codes();
        let shown = show(&format!(
            "--style fused --neuron plif --pass {pass} -T 19 -N 131072"
        ));
        assert_eq!(shown.trim_end(), text.trim_end());
    }
}

/// The fused kernels of every neuron: the words that show one, its name and its text.
fn fused() -> Vec<(String, String, String)> {
    let mut all = vec![];
    for name in neuron::NEURONS.names() {
        for (pass, dtype) in [
            ("fptt", "float"),
            ("bptt", "float"),
            ("fptt", "half"),
            ("bptt", "bf16"),
        ] {
            let words = format!("--style fused --neuron {name} --pass {pass} --dtype {dtype}");
            let text = show(&words);
            all.push((words, format!("spk_{name}_{pass}"), text));
        }
    }
    all
}

#[test]
fn every_neuron_has_a_fused_kernel() {
    for (words, name, text) in fused() {
        assert!(text.contains(&format!(" {name}(")), "{words}");
    }
}

/// The names of a text's kernels, as NVRTC compiles them.
fn compiled(words: &str, text: &str, arch: &str) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("k.cu");
    std::fs::write(&file, format!("// {words}\n{text}")).expect("written");
    let file = file.to_string_lossy();
    let made = &said_json(&["kernel", "compile", &file, "--arch", arch])[0];
    let kernels = made["kernels"].as_array().into_iter().flatten();
    kernels.map(|kernel| kernel["name"].to_string()).collect()
}

#[test]
#[ignore = "needs NVRTC"]
fn every_neurons_fused_kernel_compiles() {
    for (words, name, text) in fused() {
        let kernels = compiled(&words, &text, "90");
        let name = format!("\"{name}\"");
        assert!(kernels.contains(&name), "{words}: {kernels:?}");
    }
}

#[test]
#[ignore = "needs NVRTC"]
fn every_kernel_of_auto_cuda_compiles() {
    for name in ["if", "lif", "plif"] {
        for dtype in ["float", "half2"] {
            for pass in ["fptt", "bptt"] {
                let words = format!("--neuron {name} --pass {pass} --dtype {dtype}");
                assert_eq!(compiled(&words, &show(&words), "80").len(), 1, "{words}");
            }
        }
    }
}

#[test]
fn every_surrogate_has_a_source() {
    assert_eq!(surrogate::SURROGATES.entries.len(), 29);
    for name in surrogate::SURROGATES.names() {
        let text = show(&format!("--pass bptt --dtype half2 --surrogate {name}"));
        assert!(text.contains("const half2 grad_s_to_h ="), "{name}: {text}");
    }
}

#[test]
fn missing_kernels_of_auto_cuda_are_answered_with_the_existing_ones() {
    let message = refused("--neuron lfi");
    assert!(message.contains("'lif'"), "{message}");
    let message = refused("--neuron soft_pulse_lif");
    assert!(
        message.contains("if, lif, plif") && message.contains("--style fused"),
        "{message}"
    );
    for words in [
        "--reset-grad soft",
        "--set spiking=false",
        "--neuron plif --set granularity=neuron",
        "--dtype half",
        "--dtype bf16",
        "--time-steps 4",
        "--neurons 4",
        "--arch 80",
    ] {
        let message = refused(words);
        assert!(
            message.contains("auto_cuda") && message.contains("--style fused"),
            "{words}: {message}"
        );
        assert!(!show(&format!("--style fused {words}")).is_empty());
    }
}

#[test]
fn kernels_that_cannot_be_generated_are_errors_with_the_reason() {
    let message = refused("--style fused -T 1000000 -N 1000000");
    assert!(message.contains("2³¹ − 1"), "{message}");
    let message = refused("--style fused --reset-grad soft --surrogate super_spike");
    assert!(message.contains("no primitive"), "{message}");
    for words in [
        "-T 0",
        "--arch ninety",
        "--arch 90a",
        "--style mine",
        "--pass both",
    ] {
        assert!(refused(words).contains("invalid value"), "{words}");
    }
}
