//! Folders of images, one for each class: the layout of ImageNet.

use std::collections::BTreeMap;
use std::fs::{self, File, FileType};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use sha2::{Digest, Sha256};
use spikelet_expr::DType;

use crate::dataset::{Dataset, check_index};
use crate::decode::{Colors, DecodeLimits, decode_image};
use crate::decode_error::DecodeError;
use crate::error::{Error, Result};
use crate::field::Field;
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
    /// The number of files that are not read, by their endings.
    skipped: BTreeMap<String, usize>,
    colors: Colors,
    limits: DecodeLimits,
    /// Computed when it is needed: it asks the system for the length of each file.
    digest: OnceLock<[u8; 32]>,
}

impl ImageFolder {
    /// The images below `root`. Only names are read.
    ///
    /// # Errors
    /// [`Error::Open`] or [`Error::Read`] if a folder cannot be read; [`ImageError::EmptyFolder`] if there is no class,
    /// or a class without images.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self> {
        let root = root.into();
        let classes = Self::class_folders(&root)?;
        Self::read_names(root, classes)
    }

    /// As [`Self::open`], with the classes of another folder: for test images, whose labels must be those of the training
    /// images. A class may be missing.
    ///
    /// # Errors
    /// As [`Self::open`]; [`ImageError::UnknownClass`] if there is a folder of another class.
    pub fn open_with_classes(root: impl Into<PathBuf>, classes: &[String]) -> Result<Self> {
        let root = root.into();
        for found in Self::class_folders(&root)? {
            if !classes.contains(&found) {
                return Err(ImageError::UnknownClass {
                    path: root.join(found),
                    known: classes.to_vec(),
                }
                .into());
            }
        }
        Self::read_names(root, classes.to_vec())
    }

    /// The names of the folders of the classes, sorted.
    ///
    /// # Errors
    /// [`Error::Open`] or [`Error::Read`] if the folder cannot be read; [`ImageError::EmptyFolder`] if there is none.
    pub fn class_folders(root: &Path) -> Result<Vec<String>> {
        let mut classes = Vec::new();
        for (path, kind) in entries(root)? {
            if let (true, Some(name)) = (is_dir(&path, kind), path.file_name()) {
                // Hidden folders belong to tools.
                let name = name.to_string_lossy();
                if !name.starts_with('.') {
                    classes.push(name.into_owned());
                }
            }
        }
        match classes.is_empty() {
            true => Err(ImageError::EmptyFolder { path: root.into() }.into()),
            false => Ok(classes),
        }
    }

    /// The classes of a folder without its images, where only test images of the same classes are needed.
    pub(crate) fn without_images(root: PathBuf) -> Result<Self> {
        let classes = Self::class_folders(&root)?;
        Ok(Self::of_files(root, classes, Found::default()))
    }

    /// The images of these classes; those without a folder have none.
    fn read_names(root: PathBuf, classes: Vec<String>) -> Result<Self> {
        let mut found = Found::default();
        for (class, name) in classes.iter().enumerate() {
            let folder = root.join(name);
            if !folder.is_dir() {
                continue;
            }
            let before = found.files.len();
            collect(&folder, &folder, class as u32, MAX_DEPTH, &mut found)?;
            if found.files.len() == before {
                return Err(ImageError::EmptyFolder { path: folder }.into());
            }
            found.files[before..].sort_unstable();
        }
        Ok(Self::of_files(root, classes, found))
    }

    fn of_files(root: PathBuf, classes: Vec<String>, found: Found) -> Self {
        let Found { files, skipped } = found;
        let name = root.file_name().unwrap_or(root.as_os_str());
        Self {
            name: name.to_string_lossy().into_owned(),
            classes,
            files,
            skipped,
            colors: Colors::default(),
            limits: DecodeLimits::default(),
            digest: OnceLock::new(),
            root,
        }
    }

    /// The same images under another name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// The same images in the order of their number within the class: the first of each class, then the second of each,
    /// and so on. Then the first N images are spread over the classes.
    #[must_use]
    pub fn interleaved(mut self) -> Self {
        let ranks = self.ranks();
        let mut order: Vec<usize> = (0..self.files.len()).collect();
        order.sort_by_key(|&index| (ranks[index], self.files[index].1));
        let mut files: Vec<_> = self.files.into_iter().map(Some).collect();
        let taken = order.into_iter().filter_map(|index| files[index].take());
        self.files = taken.collect();
        self.digest = OnceLock::new();
        self
    }

    /// The number of each image within its class, from 0.
    fn ranks(&self) -> Vec<usize> {
        let mut counts = vec![0; self.classes.len()];
        let next = |(_, class): &(Box<Path>, u32)| {
            let count: &mut usize = &mut counts[*class as usize];
            *count += 1;
            *count - 1
        };
        self.files.iter().map(next).collect()
    }

    /// Divides the images of each class: one of `every` images, at least one of two or more, is in the second part. They
    /// are evenly spaced in the order of the names.
    pub(crate) fn divided(self, every: usize) -> (Self, Self) {
        let ranks = self.ranks();
        let mut sizes = vec![0_usize; self.classes.len()];
        for (_, class) in &self.files {
            sizes[*class as usize] += 1;
        }
        let is_second = |index: usize, class: u32| {
            let size = sizes[class as usize];
            let count = match size {
                0 | 1 => return false,
                _ => (size / every).max(1),
            };
            let at = |number: usize| (2 * number + 1) * size / (2 * count);
            at(ranks[index] * count / size) == ranks[index]
        };
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for (index, file) in self.files.iter().enumerate() {
            match is_second(index, file.1) {
                true => second.push(file.clone()),
                false => first.push(file.clone()),
            }
        }
        let part = |files| Self {
            files,
            digest: OnceLock::new(),
            ..self.clone()
        };
        (part(first), part(second))
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

    /// The folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The number of files that are not read, by their endings in lower case, such as `webp`. Hidden files are not counted.
    #[must_use]
    pub fn skipped(&self) -> &BTreeMap<String, usize> {
        &self.skipped
    }

    /// Whether there is an image in a folder of a class in `root`.
    pub(crate) fn is_at(root: &Path) -> bool {
        let classes = Self::class_folders(root).unwrap_or_default();
        let mut classes = classes.iter();
        classes.any(|class| has_image(&root.join(class), MAX_DEPTH))
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
            Field::new("labels", DType::I64, []),
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
        if let Some(known) = self.digest.get() {
            return Ok(*known);
        }
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
        Ok(*self.digest.get_or_init(|| digest.finalize().into()))
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

/// The paths in a folder with their kinds, sorted.
fn entries(folder: &Path) -> Result<Vec<(PathBuf, FileType)>> {
    let open = |source| Error::Open {
        path: folder.into(),
        source,
    };
    let read = |source| Error::Read {
        path: folder.into(),
        source,
    };
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(open)? {
        let entry = entry.map_err(read)?;
        // A part of the entry on most systems: no further question for each of millions of files.
        paths.push((entry.path(), entry.file_type().map_err(read)?));
    }
    paths.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    Ok(paths)
}

fn is_dir(path: &Path, kind: FileType) -> bool {
    kind.is_dir() || kind.is_symlink() && path.is_dir()
}

fn is_file(path: &Path, kind: FileType) -> bool {
    kind.is_file() || kind.is_symlink() && path.is_file()
}

/// The files of some folders.
#[derive(Default)]
struct Found {
    /// The path of each image below the folder of its class, and the class.
    files: Vec<(Box<Path>, u32)>,
    /// The number of other files, by their endings.
    skipped: BTreeMap<String, usize>,
}

/// Whether the name ends as that of an image.
fn is_named_as_image(path: &Path) -> bool {
    let ending = path.extension().map(|ending| ending.to_string_lossy());
    ending.is_some_and(|found| {
        let mut endings = ENDINGS.iter();
        endings.any(|ending| found.eq_ignore_ascii_case(ending))
    })
}

/// Whether there is an image below a folder.
fn has_image(folder: &Path, depth: usize) -> bool {
    let entries = entries(folder).unwrap_or_default();
    let is_image =
        |(path, kind): &(PathBuf, FileType)| is_named_as_image(path) && is_file(path, *kind);
    entries.iter().any(is_image)
        || depth > 0
            && entries
                .iter()
                .any(|(path, kind)| is_dir(path, *kind) && has_image(path, depth - 1))
}

/// The ending of a file that is not read, as it is counted; `None` of hidden files.
fn skipped_ending(path: &Path) -> Option<String> {
    if path.file_name()?.as_encoded_bytes().starts_with(b".") {
        return None;
    }
    let ending = path.extension().map(|ending| ending.to_string_lossy());
    let ending = ending.unwrap_or_default().to_lowercase();
    // Names are the work of others, and are printed.
    let is_word = ending.len() <= 8 && ending.bytes().all(|byte| byte.is_ascii_alphanumeric());
    Some(match is_word && !ending.is_empty() {
        true => ending,
        false => "others".to_string(),
    })
}

/// Adds the images below `folder`, with their paths below `class_folder`.
fn collect(
    class_folder: &Path,
    folder: &Path,
    class: u32,
    depth: usize,
    found: &mut Found,
) -> Result<()> {
    for (path, kind) in entries(folder)? {
        let is_image = is_named_as_image(&path);
        if is_image && is_file(&path, kind) {
            let below = path.strip_prefix(class_folder).unwrap_or(&path);
            found.files.push((below.into(), class));
        } else if !is_image && is_dir(&path, kind) {
            if depth > 0 {
                collect(class_folder, &path, class, depth - 1, found)?;
            }
        } else if let Some(ending) = skipped_ending(&path) {
            *found.skipped.entry(ending).or_default() += 1;
        }
    }
    Ok(())
}
