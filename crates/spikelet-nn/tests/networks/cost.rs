//! Parameters and multiply-accumulates.

use crate::networks::layers;
use spikelet_nn::module::Summary;
use spikelet_nn::network::Network;

#[test]
fn the_costs_of_layers_are_those_by_hand() {
    let file = layers(
        "[3, 8, 8]",
        r#"[
          { static = [{ conv = 4, kernel = 3, bias = true }, "batch-norm"] },
          { neuron = { name = "plif", init_tau = 2.0 } },
          { name = "two", repeat = 2, layers = [{ conv = 4, kernel = 3, padding = 1, groups = 2 }] },
          { conv-transposed = 2, kernel = 2, stride = 2 },
          "flatten",
          { linear = 5 },
          "neuron",
          "time-mean",
          { linear = 2, bias = true },
        ]"#,
    );
    let cost = file.cost(3).expect("sound");
    let rows = cost.rows.iter().map(|row| {
        let output = row.output.clone();
        (
            row.path.as_str(),
            row.kind.as_str(),
            output,
            row.parameters,
            row.macs,
            row.per_image,
        )
    });
    let expected = [
        ("0.0", "conv", vec![4, 6, 6], 4 * 27 + 4, 4 * 36 * 27, true),
        ("0.1", "batch-norm", vec![4, 6, 6], 8, 0, true),
        ("1", "neuron", vec![4, 6, 6], 1, 0, false),
        (
            "two.0.0",
            "conv",
            vec![4, 6, 6],
            4 * 2 * 9,
            4 * 36 * 2 * 9,
            false,
        ),
        (
            "two.1.0",
            "conv",
            vec![4, 6, 6],
            4 * 2 * 9,
            4 * 36 * 2 * 9,
            false,
        ),
        (
            "3",
            "conv-transposed",
            vec![2, 12, 12],
            4 * 2 * 4,
            4 * 36 * 2 * 4,
            false,
        ),
        ("4", "flatten", vec![288], 0, 0, false),
        ("5", "linear", vec![5], 5 * 288, 5 * 288, false),
        ("6", "neuron", vec![5], 0, 0, false),
        ("7", "time-mean", vec![5], 0, 0, true),
        ("8", "linear", vec![2], 12, 10, true),
    ];
    assert_eq!(rows.collect::<Vec<_>>(), expected);
    assert_eq!(cost.macs(), 2 * 4 * 36 * 18 + 4 * 36 * 8 + 5 * 288);
    assert_eq!(cost.macs_per_image(), 4 * 36 * 27 + 10);
}

#[test]
fn the_parameters_of_named_networks_are_those_of_their_traces() {
    for (name, macs, per_image) in [
        ("mnist-fc", 784 * 196 + 1960, 0),
        (
            "csnn",
            14 * 14 * 128 * 128 * 9 + 49 * 128 * 2048 + 20480,
            28 * 28 * 128 * 9,
        ),
    ] {
        let cost = Network::find(name)
            .and_then(|network| network.layers())
            .expect("sound")
            .cost(1)
            .expect("sound");
        assert_eq!(
            (cost.macs(), cost.macs_per_image()),
            (macs, per_image),
            "{name}"
        );
    }
    for name in Network::SMALL {
        let network = Network::find(name).expect("it is known");
        let input = [&[2, 1], &network.image()[..]].concat();
        let summary = Summary::new(network.module().expect("sound"), &input).expect("traced");
        let cost = Network::find(name)
            .and_then(|network| network.layers())
            .expect("sound")
            .cost(2)
            .expect("sound");
        assert_eq!(cost.parameters(), summary.parameters(), "{name}");
    }
}
