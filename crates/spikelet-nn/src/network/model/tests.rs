//! Every model with its default options.

use super::*;
use crate::network::Network;
use serde_json::json;
use spikelet_core::document::Document;

#[test]
fn every_model_has_the_parameters_of_its_source() -> Result<()> {
    // The authors' totals without parameters that take no part.
    let expected = [
        ("sew-resnet18", 11_689_512),
        ("sew-resnet34", 21_797_672),
        ("sew-resnet50", 25_557_032),
        ("sew-resnet101", 44_549_160),
        ("sew-resnet152", 60_192_808),
        ("sew-7b-net", 130_426),
        ("sew-wide-7b-net", 1_192_218),
        ("plif-dvs-gesture", 1_698_311),
        ("plif-cifar10-dvs", 17_427_718),
        ("plif-cifar10", 36_718_344),
        ("plif-fashion", 13_198_980),
        ("spiking-vgg11-bn", 132_868_840),
        ("cifar10-dvs-vgg", 9_271_498),
        ("ms-resnet18", 11_693_736),
        ("ms-resnet34", 21_801_896),
        ("ms-resnet104", 77_350_504),
        ("spikformer-cifar", 9_330_874 - 6_144),
        ("spikformer-imagenet", 29_705_768 - 16_384),
        ("spikformer-dvs", 2_585_610 - 18_944),
        ("qkformer-cifar", 6_706_234),
        ("qkformer-imagenet", 16_473_688),
        ("qkformer-dvs", 1_999_371 - 257),
        ("sdt-cifar", 10_233_546 - 128),
        ("sdt-imagenet", 29_689_896 - 512),
        ("sdt-cifar10-dvs", 2_566_794 - 128),
        ("sdt-gesture", 2_567_051 - 128),
    ];
    for (name, parameters) in expected {
        let layers = Model::find(name)?.layers()?;
        assert_eq!(layers.cost(1)?.parameters(), parameters, "{name}");
    }
    Ok(())
}

#[test]
fn stochastic_depth_keeps_the_parameters() -> Result<()> {
    let names = |model: Model| -> Result<Vec<String>> {
        let cx =
            crate::module::Context::new(crate::module::Mode::TRAIN, spikelet_graph::DType::F32);
        let shape = [&[1, 1], &model.image()[..]].concat();
        let image = cx.tracer().input("x", spikelet_graph::DType::F32, shape);
        cx.trace(&*model.module()?, image)?;
        Ok(cx.traced().parameters.into_iter().map(|p| p.name).collect())
    };
    for name in [
        "sew-resnet18",
        "ms-resnet18",
        "spikformer-cifar",
        "qkformer-cifar",
        "sdt-cifar",
    ] {
        let model = Model::find(name)?;
        let skipping = model.clone().with("stochastic_depth", 0.2)?;
        let written = Value::Array(skipping.layers()?.layers).to_string();
        assert!(written.contains("\"stochastic_depth\":0.2"), "{name}");
        assert_eq!(names(skipping)?, names(model)?, "{name}");
    }
    Ok(())
}

#[test]
fn a_wrong_value_names_its_option_and_what_is_expected() -> Result<()> {
    for (option, value, expected) in [
        ("size", json!([3, 40, 56]), "list of height and width"),
        ("size", json!(0), "at least 1"),
        ("width", json!("many"), "a whole number of at least 1"),
        ("connect", json!("or"), "\"add\", \"and\" or \"iand\""),
    ] {
        let error = Model::find("sew-resnet18")?.with(option, value);
        let error = error.expect_err("refused").to_string();
        let start = format!("network options: `{option}` is ");
        assert!(
            error.starts_with(&start) && error.contains(expected),
            "{error}"
        );
    }
    Ok(())
}

#[test]
fn an_unknown_option_is_named() {
    let model = Model::find("sew-resnet18").expect("it is known");
    let error = model.clone().with("depth", 3).expect_err("refused");
    assert!(
        error
            .to_string()
            .contains("the network `sew-resnet18` has no key `depth`"),
        "{error}"
    );
    for (option, value) in [
        ("connect", json!("or")),
        ("width", json!(-1)),
        ("blocks", json!([0, 1, 1, 1])),
    ] {
        let error = model.clone().with(option, value).expect_err("refused");
        assert!(!error.to_string().is_empty(), "{option}");
    }
}

fn read(text: &str) -> Result<Network> {
    let document = Document::from_toml("net.toml", text)?;
    Ok(Network::from_document(&document, &[])?)
}

#[test]
fn options_that_fit_together_only_as_a_whole_are_written_and_read() -> Result<()> {
    let network = read("[network]\nname = \"sew-7b-net\"\nchannels = [8, 16]\npools = [2, 0]")?;
    let json = serde_json::to_value(&network).expect("plain data");
    assert_eq!(json["channels"], json!([8, 16]));
    let again: Network = serde_json::from_value(json).expect("a network");
    assert_eq!(again, network);
    Ok(())
}

#[test]
fn an_option_that_does_not_fit_is_named_with_its_reason() {
    for (name, keys, expected) in [
        (
            "sew-7b-net",
            "channels = [8, 16]\npools = [2]",
            ["net.toml:4:9", "2 blocks have 1 pools"],
        ),
        (
            "sew-7b-net",
            "channels = [8, 16]",
            ["net.toml:3:12", "2 blocks have 7 pools"],
        ),
        (
            "qkformer-cifar",
            "heads = 4\ndepth = 1",
            ["net.toml:4:9", "at least one for each stage"],
        ),
        (
            "qkformer-cifar",
            "depth = \"many\"",
            ["net.toml:3:9", "a whole number of at least 1"],
        ),
        (
            "spikformer-cifar",
            "size = [32]",
            ["net.toml:3:8", "list of height and width"],
        ),
        ("csnn", "size = 0", ["net.toml:3:8", "`size` is 0"]),
        (
            "csnn",
            "size = [28, 3]",
            ["height 28 and width 3 cannot be halved 2", "[4, 4]"],
        ),
    ] {
        let text = format!("[network]\nname = \"{name}\"\n{keys}");
        let error = read(&text).expect_err("refused").to_string();
        for part in expected {
            assert!(error.contains(part), "{error}");
        }
        assert_eq!(error.matches("help: ").count(), 1, "{error}");
    }
}
