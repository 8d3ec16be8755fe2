//! Folders of images, one for each class: the layout of ImageNet.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::dataset::{Dataset, check_index};
use crate::decode::{Colors, DecodeLimits, decode_image};
use crate::decode_error::DecodeError;
use crate::error::{Error, Result};
use crate::field::{ElementType, Field};
use crate::image_error::ImageError;
use crate::sample::{Sample, SampleTensor};

/// The endings of the names of image files.
const ENDINGS: [&str; 3] = ["jpg", "jpeg", "png"];

/// How deep folders within a class are searched.
const MAX_DEPTH: usize = 16;

/// PNG and JPEG files in a folder for each class, `ROOT/CLASS/FILE` or deeper: the layout of ImageNet.
///
/// Classes are sorted by name, and images by class and path. A sample is `images`, u8 `[channels, height, width]`, of
/// any size, and `labels`, i64. Files are read and decoded when they are needed, on the loader's threads; images are
/// brought to one size by a transform such as [`RandomResizedCrop`](crate::RandomResizedCrop).
///
/// ```no_run
/// use std::sync::Arc;
/// use spikelet_data::{DataLoader, ImageFolder, LoaderConfig, RandomFlip, RandomResizedCrop};
///
/// let train = ImageFolder::open("imagenet/train")?;
/// let loader = DataLoader::new(Arc::new(train), LoaderConfig::default())?
///     .transform(RandomResizedCrop::new([224, 224]))?
///     .transform(RandomFlip::default())?;
/// let batch = loader.epoch(0, 0).next().expect("an epoch has a batch")?;
/// assert_eq!(batch.require("images")?.shape, [128, 3, 224, 224]);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ImageFolder {
    name: String,
    root: PathBuf,
    classes: Vec<String>,
    /// The path of each image below the folder of its class, and the class.
    files: Vec<(Box<Path>, u32)>,
    colors: Colors,
    limits: DecodeLimits,
}

impl ImageFolder {
    /// The images below `root`. Only names are read.
    ///
    /// # Errors
    /// [`Error::Open`] or [`Error::Read`] if a folder cannot be read; [`ImageError::EmptyFolder`] if there is no class,
    /// or a class without images.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self> {
        let root = root.into();
        let mut classes = Vec::new();
        for path in entries(&root)? {
            if let (true, Some(name)) = (path.is_dir(), path.file_name()) {
                // Hidden folders belong to tools.
                let name = name.to_string_lossy();
                if !name.starts_with('.') {
                    classes.push((name.into_owned(), path));
                }
            }
        }
        if classes.is_empty() {
            return Err(ImageError::EmptyFolder { path: root }.into());
        }
        let mut files = Vec::new();
        for (class, (_, folder)) in classes.iter().enumerate() {
            let before = files.len();
            collect(folder, folder, class as u32, MAX_DEPTH, &mut files)?;
            if files.len() == before {
                let path = folder.clone();
                return Err(ImageError::EmptyFolder { path }.into());
            }
            files[before..].sort_unstable();
        }
        let name = root.file_name().unwrap_or(root.as_os_str());
        Ok(Self {
            name: name.to_string_lossy().into_owned(),
            classes: classes.into_iter().map(|(name, _)| name).collect(),
            files,
            colors: Colors::default(),
            limits: DecodeLimits::default(),
            root,
        })
    }

    /// The same images with these channels; RGB by default.
    #[must_use]
    pub fn colors(mut self, colors: Colors) -> Self {
        self.colors = colors;
        self
    }

    /// The same images with other limits.
    #[must_use]
    pub fn limits(mut self, limits: DecodeLimits) -> Self {
        self.limits = limits;
        self
    }

    /// The names of the classes, which are those of their folders, sorted.
    #[must_use]
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// The file of an image; `None` past the end.
    #[must_use]
    pub fn path(&self, index: usize) -> Option<PathBuf> {
        let (path, class) = self.files.get(index)?;
        let class = &self.classes[*class as usize];
        Some(self.root.join(class).join(path))
    }

    /// The bytes of a file, no more than the limit.
    fn read(&self, path: &Path) -> Result<Vec<u8>> {
        let open = |source| Error::Open {
            path: path.into(),
            source,
        };
        let read = |source| Error::Read {
            path: path.into(),
            source,
        };
        let file = File::open(path).map_err(open)?;
        let len = file.metadata().map_err(read)?.len();
        let limit = self.limits.max_file_bytes;
        if len > limit {
            let unit = "bytes";
            let problem = DecodeError::TooLarge {
                found: len,
                limit,
                unit,
            };
            return Err(decode_error(path, problem));
        }
        let mut bytes = Vec::with_capacity(len as usize + 1);
        file.take(limit).read_to_end(&mut bytes).map_err(read)?;
        Ok(bytes)
    }
}

impl Dataset for ImageFolder {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> usize {
        self.files.len()
    }

    fn fields(&self) -> Vec<Field> {
        let image = Field::image("images", [self.colors.channels(), 0, 0]);
        vec![
            image.variable_axis(1).variable_axis(2),
            Field::new("labels", ElementType::I64, []),
        ]
    }

    fn sample(&self, index: usize) -> Result<Sample<'_>> {
        check_index(self, index)?;
        let path = self.path(index).expect("the index was checked");
        let bytes = self.read(&path)?;
        let image = decode_image(&bytes, self.colors, &self.limits);
        let image = image.map_err(|problem| decode_error(&path, problem))?;
        let shape = image.shape();
        let label = i64::from(self.files[index].1);
        Ok(Sample::new()
            .with("images", SampleTensor::u8(&shape, image.into_pixels()))
            .with("labels", SampleTensor::i64(&[], vec![label])))
    }

    /// The names and lengths of all files.
    fn digest(&self) -> Result<[u8; 32]> {
        let mut digest = Sha256::new();
        let mut part = |bytes: &[u8]| {
            digest.update((bytes.len() as u64).to_le_bytes());
            digest.update(bytes);
        };
        for class in &self.classes {
            part(class.as_bytes());
        }
        for (index, (file, class)) in self.files.iter().enumerate() {
            let path = self.path(index).expect("the index is below the length");
            let length = fs::metadata(&path).map_err(|source| Error::Read { path, source })?;
            part(&class.to_le_bytes());
            part(file.as_os_str().as_encoded_bytes());
            part(&length.len().to_le_bytes());
        }
        Ok(digest.finalize().into())
    }

    fn class_names(&self, field: &str) -> &[String] {
        match field {
            "labels" => &self.classes,
            _ => &[],
        }
    }
}

fn decode_error(path: &Path, problem: DecodeError) -> Error {
    let path = path.into();
    ImageError::Decode { path, problem }.into()
}

/// The paths in a folder, sorted.
fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let open = |source| Error::Open {
        path: folder.into(),
        source,
    };
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(open)? {
        let entry = entry.map_err(|source| Error::Read {
            path: folder.into(),
            source,
        })?;
        paths.push(entry.path());
    }
    paths.sort_unstable();
    Ok(paths)
}

/// Adds the images below `folder`, with their paths below `class_folder`.
fn collect(
    class_folder: &Path,
    folder: &Path,
    class: u32,
    depth: usize,
    files: &mut Vec<(Box<Path>, u32)>,
) -> Result<()> {
    for path in entries(folder)? {
        let ending = path.extension().map(|ending| ending.to_string_lossy());
        let is_image = ending.is_some_and(|found| {
            let mut endings = ENDINGS.iter();
            endings.any(|ending| found.eq_ignore_ascii_case(ending))
        });
        if is_image && path.is_file() {
            let below = path.strip_prefix(class_folder).unwrap_or(&path);
            files.push((below.into(), class));
        } else if !is_image && depth > 0 && path.is_dir() {
            collect(class_folder, &path, class, depth - 1, files)?;
        }
    }
    Ok(())
}
