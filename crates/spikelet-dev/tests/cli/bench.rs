//! `spikelet-dev bench`

use crate::common::{said, said_json};

#[test]
fn a_layer_with_its_neurons_is_measured() {
    let words = [
        "bench",
        "linear-lif",
        "--features",
        "8,16",
        "--time-steps",
        "3",
        "--batch-size",
        "2",
        "--repeats",
        "2",
    ];
    let lines = said_json(&words);
    assert_eq!(lines.len(), 7);
    assert_eq!(lines[0]["name"], "copy");
    assert_eq!(lines[1]["name"], "linear_lif_forward");
    assert_eq!(lines[5]["name"], "linear_lif_forward_backward_weights");
    assert_eq!(lines[6]["name"], "linear_lif_forward_backward");
    assert_eq!(lines[6]["features"], 16);
    assert!(
        lines[1..]
            .iter()
            .all(|l| l["plan_peak_bytes"].as_u64() > Some(0))
    );
    for precision in ["tf32", "bf16", "f16"] {
        let lines = said_json(&[&words[..], &["--precision", precision]].concat());
        assert_eq!(lines[3]["precision"], precision);
    }
    let text = said(&[&words[..], &["--propagation", "step-by-step"]].concat());
    assert!(
        text.contains("GFLOP/s") && text.contains("step-by-step"),
        "{text}"
    );
}
