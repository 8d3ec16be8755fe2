//! The operations on images give the bytes of torchvision on PIL images.

use crate::references;

use references::{bytes, image, references};
use serde_json::Value;
use spikelet_data::{Image, ImageOp};

fn op(case: &Value) -> ImageOp {
    let number = case["value"].as_f64().unwrap_or(0.0) as f32;
    match case["op"].as_str().unwrap() {
        "Invert" => ImageOp::Invert,
        "AutoContrast" => ImageOp::AutoContrast,
        "Equalize" => ImageOp::Equalize,
        "Posterize" => ImageOp::Posterize(number as u32),
        "Solarize" => ImageOp::Solarize(number),
        "Brightness" => ImageOp::Brightness(number),
        "Contrast" => ImageOp::Contrast(number),
        "Color" => ImageOp::Color(number),
        "Sharpness" => ImageOp::Sharpness(number),
        "Hue" => ImageOp::Hue(number),
        "ShearX" => ImageOp::ShearX(number),
        "ShearY" => ImageOp::ShearY(number),
        "TranslateX" => ImageOp::TranslateX(number as i32),
        "TranslateY" => ImageOp::TranslateY(number as i32),
        "Rotate" => ImageOp::Rotate(number),
        unknown => panic!("{unknown}"),
    }
}

#[test]
fn operations_give_the_bytes_of_torchvision() {
    let references = references();
    let images: Vec<Image> = references["images"]
        .as_array()
        .unwrap()
        .iter()
        .map(image)
        .collect();
    let mut wrong = vec![];
    for case in references["operations"].as_array().unwrap() {
        let mut found = images[case["image"].as_u64().unwrap() as usize].clone();
        let [_, height, width] = found.shape();
        let fill = case["fill"].as_u64().unwrap() as u8;
        op(case).apply(&mut found, fill);
        let expected = bytes(&case["out"]);
        let differing = found.pixels().iter().zip(&expected).enumerate();
        let mut differing = differing.filter(|(_, (found, expected))| found != expected);
        if let Some((at, (found, expected))) = differing.next() {
            wrong.push(format!(
                "{:?} of image {}: {} pixels differ; channel {}, row {}, column {}: {found} instead of {expected}",
                op(case),
                case["image"],
                1 + differing.count(),
                at / (height * width),
                at / width % height,
                at % width
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
