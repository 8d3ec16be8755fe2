//! Models as lists of layers and in checkpoints.

use crate::networks::traced;
use serde_json::json;
use spikelet_nn::network::{Model, Network};
use spikelet_nn::prelude::*;

#[test]
fn a_model_and_its_list_of_layers_have_the_same_graph_and_parameters() {
    for name in Network::SMALL {
        let network = Network::find(name).expect("it is known");
        let layers = Network::Layers(network.layers().expect("it is sound"));
        assert_eq!(layers.name(), name);
        assert_eq!(layers.image(), network.image(), "{name}");
        let input = [&[4, 2], &network.image()[..]].concat();
        let modules = [&network, &layers].map(|n| n.module().expect("it is sound"));
        for mode in [Mode::TRAIN, Mode::EVAL, Mode::STREAM] {
            let [known, found] = modules.each_ref().map(|m| traced(&**m, mode, &input));
            assert!(!known.1.is_empty());
            assert_eq!(known, found, "{name}");
        }
    }
}

#[test]
fn networks_take_images_that_are_not_square() {
    for name in Model::names() {
        let known = Network::find(name).expect("it is known");
        let [channels, side, width] = known.image();
        if name == "mnist-fc" {
            assert_eq!((side, width), (28, 28));
            continue;
        }
        for size in [[side, 2 * side], [2 * side, side]] {
            let spec = json!({"name": name, "size": size, "classes": 7});
            let text = format!("[network]\nname = \"{name}\"\nsize = {size:?}\nclasses = 7\n");
            let file = Network::from_toml("net.toml", &text, &[]).expect("it is sound");
            let read: Network = serde_json::from_value(spec).expect("a network");
            assert_eq!(read, file);
            let written = serde_json::to_value(&file).expect("plain data");
            assert_eq!(written["size"], json!(size));
            let [height, width] = size;
            assert_eq!(file.image(), [channels, height, width]);
            let module = file.module().expect("it is sound");
            let (graph, _) = traced(&*module, Mode::EVAL, &[1, 1, channels, height, width]);
            assert!(graph.contains("[1, 1, 7]"), "{name}: {graph}");
        }
    }
}

#[test]
fn networks_of_old_checkpoints_are_read() {
    for spec in [
        json!({"name": "csnn", "channels": 16, "hidden": 0, "inputs": 1, "size": 28, "classes": 10,
               "neuron": {"neuron": "if", "params": {}}}),
        json!({"name": "mnist-fc", "hidden": 7}),
        json!({"name": "resnet18"}),
    ] {
        let network: Network = serde_json::from_value(spec.clone()).expect("a network");
        assert_eq!(network.name(), spec["name"]);
        let text = serde_json::to_string(&network).expect("plain data");
        assert_eq!(serde_json::from_str::<Network>(&text).ok(), Some(network));
    }
    for wrong in [
        json!({"name": "nothing"}),
        json!({"name": "csnn", "channels": "many"}),
        json!({"layers": 3}),
        json!({"layers": [], "input": []}),
        json!(3),
        json!(null),
    ] {
        assert!(
            serde_json::from_value::<Network>(wrong.clone()).is_err(),
            "{wrong}"
        );
    }
}

#[test]
fn a_list_of_layers_is_stored_as_json_of_the_same_structure() {
    for name in Network::SMALL {
        let model = Model::find(name).expect("it is known");
        let network = Network::Layers(model.layers().expect("it is sound"));
        let value = serde_json::to_value(&network).expect("plain data");
        assert_eq!(value["name"], name);
        assert!(value["layers"].is_array());
        let text = value.to_string();
        assert_eq!(serde_json::from_str::<Network>(&text).ok(), Some(network));
    }
}

#[test]
fn a_file_may_name_a_network_with_settings_and_have_other_tables() {
    let text = "[training]\nepochs = 3\n[network]\nname = \"csnn\"\nchannels = 16\nneuron = { name = \"plif\", surrogate = \"sigmoid\" }\n";
    let mut network = Network::from_toml("run.toml", text, &["training"]).expect("sound");
    let neuron = json!({"neuron": "plif", "params": {}, "surrogate": "sigmoid"});
    assert_eq!(network.name(), "csnn");
    assert_eq!(*network.neuron_mut(), neuron);
    let value = serde_json::to_value(&network).expect("plain data");
    assert_eq!(value["channels"], 16);
    let error = Network::from_toml("run.toml", text, &["data"]).expect_err("another table");
    assert!(
        error
            .to_string()
            .starts_with("run.toml:1:2: the file has no key `training`"),
        "{error}"
    );
}
