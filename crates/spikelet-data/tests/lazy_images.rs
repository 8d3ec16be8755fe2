//! Images that are read or computed when they are needed, in the shape of a network.

use std::fs;
use std::path::Path;

use crate::images::pixels;
use spikelet_data::{
    Augment, Batch, DataLoader, DataOptions, Dataset, Error, ImageError, ImageFolder, LoaderConfig,
    RandomResizedCrop, Result, Split, find, image_shape, named_datasets,
};

/// A JPEG file of one color.
fn write(path: &Path, [width, height]: [u16; 2], gray: u8) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut bytes = Vec::new();
    let pixels = vec![gray; usize::from(width) * usize::from(height) * 3];
    jpeg_encoder::Encoder::new(&mut bytes, 95)
        .encode(&pixels, width, height, jpeg_encoder::ColorType::Rgb)
        .unwrap();
    fs::write(path, bytes).unwrap();
}

/// A gray PNG file whose brightness grows to the right.
fn write_ramp(path: &Path, [height, width]: [u32; 2]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let file = fs::File::create(path).unwrap();
    let mut encoder = png::Encoder::new(file, width, height);
    encoder.set_color(png::ColorType::Grayscale);
    let pixels: Vec<u8> = (0..height * width).map(|k| (k % width * 5) as u8).collect();
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&pixels).unwrap();
}

/// Two classes of images of different sizes, `count` in each.
fn class_folders(root: &Path, count: u8) {
    for (class, gray) in [("dark", 40), ("light", 200)] {
        for k in 0..count {
            let size = [20 + u16::from(k), 30];
            write(
                &root.join(class).join(format!("{k:02}.jpg")),
                size,
                gray + k,
            );
        }
    }
}

fn data() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    class_folders(&root.path().join("train"), 8);
    class_folders(&root.path().join("val"), 3);
    root
}

fn load(root: &Path) -> Result<Split> {
    load_of("image-folder", root)
}

fn load_of(name: &str, root: &Path) -> Result<Split> {
    find(name)?.load(&options(root))
}

/// All images of a folder, in 16 × 16 pixels.
fn options(root: &Path) -> DataOptions {
    DataOptions {
        folder: root.into(),
        image: [3, 16, 16],
        ..DataOptions::default()
    }
}

fn image_error(error: Error) -> ImageError {
    match error {
        Error::Image(problem) => problem,
        other => panic!("{other}"),
    }
}

#[test]
fn the_parts_of_a_folder_have_the_classes_of_the_training_images_by_turns() {
    let root = data();
    let images = load(root.path()).unwrap();
    assert_eq!(images.class_names(), ["dark", "light"]);
    assert_eq!(images.train.labels().unwrap(), [0, 1].repeat(8));
    assert_eq!(images.test.labels().unwrap(), [0, 1].repeat(3));
    assert_eq!(images.train.name(), "image folder");
    assert_eq!(images.normalize().unwrap().mean, [0.485, 0.456, 0.406]);
    let test = images.test.sample(1).unwrap();
    let image = test.require("images").unwrap();
    assert_eq!(image.shape, [3, 16, 16]);
    assert!(image.as_u8().unwrap().iter().all(|&x| x.abs_diff(200) < 4));
    // A class without test images keeps the labels of the others.
    fs::remove_dir_all(root.path().join("val/dark")).unwrap();
    assert_eq!(load(root.path()).unwrap().test.labels().unwrap(), [1; 3]);
    // A folder of data sets has it in a folder of its own.
    let shelf = tempfile::tempdir().unwrap();
    fs::rename(root.path(), shelf.path().join("imagenet")).unwrap();
    let images = load_of("imagenet", shelf.path()).unwrap();
    assert_eq!(images.train.len(), 16);
    fs::create_dir(root.path()).unwrap();
}

#[test]
fn training_images_are_augmented_the_same_for_any_threads_and_first_batch() {
    let root = data();
    let images = load(root.path()).unwrap();
    let epoch = |threads, first| -> Vec<Batch> {
        let config = LoaderConfig {
            batch_size: 5,
            threads,
            augment: find("imagenet").unwrap().augment(),
            ..LoaderConfig::default()
        };
        let loader = images.training(images.train.clone(), config).unwrap();
        loader.epoch(1, first).map(Result::unwrap).collect()
    };
    let all = epoch(1, 0);
    assert_eq!(all[0].require("images").unwrap().shape, [5, 3, 16, 16]);
    assert_eq!(epoch(3, 0), all);
    assert_eq!(epoch(2, 2), all[2..]);
}

#[test]
fn images_of_folders_are_only_resized_unless_an_augmentation_asks_for_more() {
    let root = tempfile::tempdir().unwrap();
    for class in ["a", "b"] {
        for (k, size) in [[16, 16], [32, 48]].into_iter().enumerate() {
            let path = root.path().join(format!("train/{class}/{k}.png"));
            write_ramp(&path, size);
            write_ramp(&root.path().join(format!("test/{class}/{k}.png")), size);
        }
    }
    let images = load(root.path()).unwrap();
    let batch = |augment, epoch| -> Batch {
        let config = LoaderConfig {
            shuffle: false,
            augment,
            ..LoaderConfig::default()
        };
        let loader = images.training(images.train.clone(), config).unwrap();
        loader.epoch(epoch, 0).next().unwrap().unwrap()
    };
    let plain = batch(Augment::default(), 0);
    assert_eq!(batch(Augment::default(), 3), plain);
    // The test images are the same files.
    let config = LoaderConfig {
        shuffle: false,
        ..LoaderConfig::default()
    };
    let evaluated = DataLoader::new(images.test.clone(), config).unwrap();
    assert_eq!(evaluated.epoch(0, 0).next().unwrap().unwrap(), plain);
    // An image that has the size of the network is as it is in its file.
    let first: Vec<f32> = plain.f32("images").unwrap()[..16].to_vec();
    let file: Vec<f32> = (0..16).map(|x| (x * 5) as f32 / 255.0).collect();
    assert_eq!(first, file);
    let cropped = Augment {
        transforms: vec![RandomResizedCrop::default().into()],
        ..Augment::default()
    };
    assert_ne!(batch(cropped.clone(), 0), plain);
    assert_ne!(batch(cropped.clone(), 0), batch(cropped, 1));
}

#[test]
fn files_that_are_not_read_are_named_and_the_folder_test_comes_before_val() {
    let root = data();
    let train = root.path().join("train");
    for name in [
        "dark/a.webp",
        "dark/b.WEBP",
        "light/c.bmp",
        "light/d\u{1b}[2J",
        "dark/.e.bmp",
    ] {
        fs::write(train.join(name), "x").unwrap();
    }
    let images = load(root.path()).unwrap();
    let expected = "4 files are not read (1 bmp, 1 others, 2 webp): images are PNG and JPEG files";
    assert_eq!(images.notes(), [expected]);
    assert_eq!(images.test.len(), 6);
    class_folders(&root.path().join("test"), 2);
    let images = load(root.path()).unwrap();
    assert_eq!(images.test.len(), 4);
    assert!(
        images.notes()[1].contains("val\" is not read"),
        "{:?}",
        images.notes()
    );
    fs::remove_dir_all(root.path().join("val")).unwrap();
    assert_eq!(load(root.path()).unwrap().notes().len(), 1);
}

#[test]
fn a_data_set_says_whether_its_files_are_in_a_folder() {
    let found = |root: &Path| -> Vec<&'static str> {
        let found = named_datasets().filter(|dataset| dataset.is_in(root));
        found.map(|dataset| dataset.name()).collect()
    };
    let root = tempfile::tempdir().unwrap();
    assert_eq!(found(root.path()), [""; 0]);
    assert_eq!(found(Path::new("/nonexistent")), [""; 0]);
    fs::create_dir_all(root.path().join("notes/deep")).unwrap();
    fs::write(root.path().join("notes/deep/text.txt"), "x").unwrap();
    assert_eq!(found(root.path()), [""; 0]);
    class_folders(root.path(), 1);
    assert_eq!(found(root.path()), ["image-folder"]);
    assert_eq!(found(data().path()), ["image-folder"]);
    let shelf = tempfile::tempdir().unwrap();
    class_folders(&shelf.path().join("imagenet/train"), 1);
    class_folders(&shelf.path().join("imagenet/val"), 1);
    assert!(found(shelf.path()).contains(&"imagenet"));
    let recordings = tempfile::tempdir().unwrap();
    fs::create_dir(recordings.path().join("wave")).unwrap();
    fs::write(recordings.path().join("wave/a.bin"), [3, 7, 0x80, 0, 40]).unwrap();
    assert_eq!(found(recordings.path()), ["recordings"]);
}

#[test]
fn held_out_training_images_are_evaluated_without_random_changes() {
    let root = data();
    let images = load(root.path()).unwrap();
    let (train, held_out) = images.parts(0.25).unwrap();
    let held_out = held_out.unwrap();
    assert_eq!((train.len(), held_out.len()), (12, 4));
    assert_eq!(image_shape(&*held_out).unwrap(), [3, 16, 16]);
    let loader = DataLoader::new(held_out, LoaderConfig::default()).unwrap();
    let epoch = |epoch| {
        let mut batches = loader.in_order(4).unwrap().epoch(epoch, 0);
        batches.next().unwrap().unwrap()
    };
    assert_eq!(epoch(0), epoch(5));
}

#[test]
fn the_first_images_are_of_all_classes() {
    let root = data();
    let options = DataOptions {
        train: Some(5),
        test: Some(2),
        ..options(root.path())
    };
    let images = find("image-folder").unwrap().load(&options).unwrap();
    assert_eq!(images.train.labels().unwrap(), [0, 1, 0, 1, 0]);
    assert_eq!(images.test.labels().unwrap(), [0, 1]);
    assert!(images.test.sample(2).is_err());
}

#[test]
fn a_tenth_of_each_class_is_for_testing_where_there_are_no_parts() {
    for (count, expected) in [(2, 1), (9, 1), (25, 2), (40, 4)] {
        let root = tempfile::tempdir().unwrap();
        class_folders(root.path(), count);
        let images = load(root.path()).unwrap();
        let sizes = [images.train.len(), images.test.len()];
        assert_eq!(sizes, [2 * (usize::from(count) - expected), 2 * expected]);
        assert_eq!(images.test.labels().unwrap(), [0, 1].repeat(expected));
    }
}

#[test]
fn gray_images_have_one_channel_and_others_are_refused() {
    let root = data();
    let with = |channels| {
        let image = [channels, 16, 12];
        let folder = options(root.path());
        find("image-folder")?.load(&DataOptions { image, ..folder })
    };
    let gray = with(1).unwrap();
    assert_eq!(image_shape(&*gray.test).unwrap(), [1, 16, 12]);
    assert_eq!(pixels(&*gray.test, 0).len(), 16 * 12);
    assert_eq!(gray.normalize().unwrap().mean.len(), 1);
    let refused = image_error(with(2).unwrap_err());
    assert_eq!(refused, ImageError::Channels { channels: 2 });
}

#[test]
fn folders_that_are_no_data_set_are_named() {
    let root = data();
    let at = |below: &str| root.path().join(below);
    let missing = |path: &Path, dir: &Path| {
        let path = path.to_path_buf();
        let found = image_error(load(dir).unwrap_err());
        assert_eq!(found, ImageError::MissingFolder { path });
    };
    missing(&at("nowhere"), &at("nowhere"));
    write(&at("val/grey/0.jpg"), [20, 20], 99);
    let known = vec!["dark".to_string(), "light".to_string()];
    let path = at("val/grey");
    let found = image_error(load(root.path()).unwrap_err());
    assert!(found.to_string().contains("whose classes are dark, light"));
    assert_eq!(found, ImageError::UnknownClass { path, known });
    fs::remove_dir_all(at("val/grey")).unwrap();
    fs::create_dir(at("train/empty")).unwrap();
    let path = at("train/empty");
    let found = image_error(load(root.path()).unwrap_err());
    assert_eq!(found, ImageError::EmptyFolder { path });
    fs::remove_dir_all(at("val")).unwrap();
    missing(&at("val"), root.path());
}

#[test]
fn a_damaged_file_is_named_where_its_batch_is_asked_for() {
    let root = data();
    let path = root.path().join("train/light/03.jpg");
    let file = fs::read(&path).unwrap();
    fs::write(&path, &file[..file.len() / 3]).unwrap();
    let images = load(root.path()).unwrap();
    let loader = images
        .training(images.train.clone(), LoaderConfig::default())
        .unwrap();
    let error = loader.epoch(0, 0).find_map(Result::err).unwrap();
    let message = error.to_string();
    assert!(message.contains(&*path.to_string_lossy()), "{message}");
    assert!(message.contains("replace it by a valid"), "{message}");
}

#[test]
fn interleaved_images_are_the_same_images() {
    let root = data();
    let folder = ImageFolder::open(root.path().join("train")).unwrap();
    let before = folder.digest().unwrap();
    let paths = |folder: &ImageFolder| -> Vec<_> {
        (0..folder.len()).filter_map(|k| folder.path(k)).collect()
    };
    let mut expected = paths(&folder);
    let interleaved = folder.interleaved();
    let mut found = paths(&interleaved);
    assert_ne!(found, expected);
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    assert_ne!(interleaved.digest().unwrap(), before);
}

#[test]
fn generated_images_depend_on_their_index_alone() {
    let generate = |train, classes| {
        find("synthetic-images")?.load(&DataOptions {
            image: [3, 24, 20],
            classes,
            train: Some(train),
            ..DataOptions::default()
        })
    };
    let (few, many) = (generate(10, 7).unwrap(), generate(100_000, 7).unwrap());
    assert_eq!(few.sizes(), [10, 1000]);
    assert_eq!(few.class_names().len(), 7);
    assert_eq!(few.train.sample(9).unwrap(), many.train.sample(9).unwrap());
    let [train, test] = [&*many.train, &*many.test];
    // Another image, and the same image of the other part.
    assert_ne!(pixels(train, 2), pixels(train, 9));
    assert_ne!(pixels(train, 2), pixels(test, 2));
    assert!(train.sample(100_000).is_err());
    assert!(generate(10, 0).is_err());
}

#[test]
fn generated_images_have_the_same_bytes_on_every_machine() {
    let options = DataOptions {
        image: [3, 5, 4],
        classes: 3,
        ..DataOptions::default()
    };
    let images = find("synthetic-images").unwrap().load(&options).unwrap();
    let expected = [100, 98, 92, 123, 204, 140, 190, 211];
    assert_eq!(pixels(&*images.train, 4)[..8], expected);
}
