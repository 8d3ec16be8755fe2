//! Folders of PNG and JPEG files.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use spikelet_data::{
    Batch, Colors, DataLoader, Dataset, DecodeError, DecodeLimits, Error, ImageError, ImageFolder,
    LoaderConfig, RandomFlip, RandomResizedCrop, decode_image,
};

use crate::references;

use references::bytes;

fn files() -> Vec<Value> {
    let text = include_str!("references/files.json");
    let content: Value = serde_json::from_str(text).unwrap();
    content["files"].as_array().unwrap().clone()
}

/// The files by turns in three classes, one of them with a folder of its own in it.
fn folder() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for class in ["owl", "cat/deeper", ".cache", "bee"] {
        fs::create_dir_all(root.path().join(class)).unwrap();
    }
    for (k, case) in files().iter().enumerate() {
        let class = ["owl", "cat/deeper", "bee"][k % 3];
        let ending = ["jpg", "JPEG", "png"][k % 3];
        let path = root
            .path()
            .join(class)
            .join(format!("{:02}.{ending}", 20 - k));
        fs::write(path, bytes(&case["file"])).unwrap();
    }
    fs::write(root.path().join("owl/notes.txt"), "no image").unwrap();
    fs::write(root.path().join("README"), "no class").unwrap();
    root
}

fn decode(file: &[u8], colors: Colors) -> Result<Vec<u8>, DecodeError> {
    let image = decode_image(file, colors, &DecodeLimits::default())?;
    assert_eq!(image.shape(), [colors.channels(), 22, 30]);
    Ok(image.into_pixels())
}

#[test]
fn files_are_decoded_as_by_pillow() {
    for case in files() {
        let name = case["name"].as_str().unwrap();
        let file = bytes(&case["file"]);
        for (colors, expected) in [(Colors::Rgb, "rgb"), (Colors::Gray, "gray")] {
            let found = decode(&file, colors).unwrap_or_else(|e| panic!("{name}: {e}"));
            let expected = bytes(&case[expected]);
            let differences = found.iter().zip(&expected).map(|(&a, &b)| a.abs_diff(b));
            let differences: Vec<u8> = differences.collect();
            let largest = differences.iter().max().unwrap();
            let sum: f32 = differences.iter().map(|&d| f32::from(d)).sum();
            // Decoders of JPEG round differently, and interpolate colors of half the resolution differently.
            let (most, mean) = if file[0] == 0x89 { (0, 0.0) } else { (12, 1.0) };
            let found = sum / differences.len() as f32;
            assert!(
                *largest <= most && found <= mean,
                "{name} {colors:?}: {largest} {found}"
            );
        }
    }
}

#[test]
fn transparent_pixels_are_those_of_a_white_page() {
    use png::{BitDepth, ColorType};
    // Black pixels: invisible, half visible, visible.
    let opacities = [0, 51, 255];
    let pixels = |color: &[u8]| -> Vec<u8> {
        let pixel = |&opacity: &u8| [color, &[opacity]].concat();
        opacities.iter().flat_map(pixel).collect()
    };
    for (color, data, transparency) in [
        (ColorType::Rgba, pixels(&[0; 3]), None),
        (ColorType::GrayscaleAlpha, pixels(&[0]), None),
        (ColorType::Indexed, vec![0, 1, 2], Some(opacities.to_vec())),
    ] {
        let mut file = vec![];
        let mut encoder = png::Encoder::new(&mut file, 3, 1);
        encoder.set_color(color);
        encoder.set_depth(BitDepth::Eight);
        if let Some(transparency) = transparency {
            encoder.set_palette(vec![0; 9]);
            encoder.set_trns(transparency);
        }
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(&data).unwrap();
        writer.finish().unwrap();
        for colors in [Colors::Rgb, Colors::Gray] {
            let image = decode_image(&file, colors, &DecodeLimits::default()).unwrap();
            let expected = [255, 204, 0].repeat(colors.channels());
            assert_eq!(image.pixels(), expected, "{color:?} {colors:?}");
        }
    }
}

#[test]
fn classes_and_files_are_sorted() {
    let root = folder();
    let folder = ImageFolder::open(root.path()).unwrap();
    assert_eq!(folder.classes(), ["bee", "cat", "owl"]);
    assert_eq!(folder.class_names("labels"), folder.classes());
    assert_eq!(folder.len(), files().len());
    let paths: Vec<_> = (0..folder.len()).map(|k| folder.path(k).unwrap()).collect();
    assert!(paths.is_sorted());
    assert!(paths[3].ends_with("cat/deeper/10.JPEG"), "{paths:?}");
    let sample = folder.sample(3).unwrap();
    assert_eq!(sample.require("labels").unwrap().as_i64(), Some(&[1][..]));
    assert_eq!(sample.require("images").unwrap().shape, [3, 22, 30]);
    assert!(folder.sample(folder.len()).is_err());
}

#[test]
fn batches_are_the_same_for_any_number_of_threads() {
    let root = folder();
    let folder = Arc::new(ImageFolder::open(root.path()).unwrap());
    let epoch = |threads| -> Vec<Batch> {
        let config = LoaderConfig {
            batch_size: 3,
            threads,
            ..LoaderConfig::default()
        };
        let loader = DataLoader::new(folder.clone(), config).unwrap();
        let loader = loader.transform(RandomResizedCrop::new([8, 12])).unwrap();
        let loader = loader.transform(RandomFlip::default()).unwrap();
        loader.epoch(2, 0).map(Result::unwrap).collect()
    };
    let expected = epoch(1);
    assert_eq!(expected[0].require("images").unwrap().shape, [3, 3, 8, 12]);
    assert_eq!(epoch(2), expected);
    assert_eq!(epoch(5), expected);
}

#[test]
fn the_digest_changes_with_names_and_lengths() {
    let root = folder();
    let digest = || ImageFolder::open(root.path()).unwrap().digest().unwrap();
    let before = digest();
    assert_eq!(digest(), before);
    let path = root.path().join("owl/20.jpg");
    let content = fs::read(&path).unwrap();
    fs::write(&path, [&content[..], &[0]].concat()).unwrap();
    let longer = digest();
    assert_ne!(longer, before);
    fs::rename(&path, root.path().join("bee/20.jpg")).unwrap();
    assert_ne!(digest(), longer);
}

#[test]
fn a_damaged_file_is_named() {
    let root = folder();
    let folder = ImageFolder::open(root.path()).unwrap();
    let path = folder.path(4).unwrap();
    let whole = fs::read(&path).unwrap();
    for content in [&whole[..whole.len() / 2], b"<html>", b""] {
        fs::write(&path, content).unwrap();
        let error = folder.sample(4).unwrap_err();
        assert!(
            error.to_string().contains(&*path.to_string_lossy()),
            "{error}"
        );
        assert!(matches!(error, Error::Image(ImageError::Decode { .. })));
    }
    fs::remove_file(&path).unwrap();
    let error = folder.sample(4).unwrap_err();
    assert!(matches!(error, Error::Open { .. }), "{error}");
}

#[test]
fn folders_without_images_are_refused() {
    let root = folder();
    let refused = |path: &Path| ImageFolder::open(path).unwrap_err();
    let error = refused(&root.path().join("owl"));
    assert!(
        matches!(error, Error::Image(ImageError::EmptyFolder { .. })),
        "{error}"
    );
    assert!(matches!(
        refused(&root.path().join("none")),
        Error::Open { .. }
    ));
    fs::create_dir(root.path().join("dog")).unwrap();
    let error = refused(root.path());
    assert!(error.to_string().contains("dog"), "{error}");
}

#[test]
fn images_larger_than_the_limits_are_refused() {
    for case in files() {
        let file = bytes(&case["file"]);
        for limits in [
            DecodeLimits {
                max_side: 29,
                ..DecodeLimits::default()
            },
            DecodeLimits {
                max_pixels: 659,
                ..DecodeLimits::default()
            },
            DecodeLimits {
                max_file_bytes: 100,
                ..DecodeLimits::default()
            },
        ] {
            decode_image(&file, Colors::Rgb, &limits).unwrap_err();
        }
    }
    let root = folder();
    let limits = DecodeLimits {
        max_file_bytes: 100,
        ..DecodeLimits::default()
    };
    let folder = ImageFolder::open(root.path()).unwrap().limits(limits);
    let error = folder.sample(0).unwrap_err().to_string();
    assert!(error.contains("limit of 100"), "{error}");
}

#[test]
fn every_truncated_file_is_an_error_and_no_damaged_file_panics() {
    for case in files() {
        let file = bytes(&case["file"]);
        for len in (0..file.len() - 1).step_by(7) {
            let found = decode(&file[..len], Colors::Rgb);
            assert!(found.is_err(), "{} of {} bytes", len, case["name"]);
        }
        for at in (0..file.len()).step_by(3) {
            for change in [1, 0x80, 0xff] {
                let mut damaged = file.clone();
                damaged[at] ^= change;
                let limits = DecodeLimits {
                    max_pixels: 1 << 16,
                    ..DecodeLimits::default()
                };
                let _ = decode_image(&damaged, Colors::Rgb, &limits);
            }
        }
    }
}
