//! Data sets by name.

use super::{count, variable};
use crate::failure::Failure;
use clap::ValueEnum;
use spikelet::data::{Dataset, Progress, Source, Split, fashion_mnist, mnist, synthetic};
use spikelet::log::{Console, Output};
use std::path::PathBuf;
use std::sync::Arc;

/// The variable that names the folder of data sets.
pub const DATA_VARIABLE: &str = "SPIKELET_DATA";

/// The folder of data sets where none is named.
const FOLDER: &str = "data";

/// The images that the synthetic digits are: not the seed of a run, so that runs compare.
const SYNTHETIC_SEED: u64 = 0;

/// A data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DataName {
    /// Drawn digits like MNIST's; needs no files
    Synthetic,
    /// Handwritten digits
    Mnist,
    /// Articles of clothing
    FashionMnist,
}

/// A data set and where it lies.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Data")]
pub struct DataArgs {
    /// Data set [default: synthetic, for a checkpoint the one it was trained on]
    #[arg(
        long = "dataset",
        visible_alias = "data",
        value_name = "NAME",
        value_enum
    )]
    pub data: Option<DataName>,

    /// Folder of data sets [default: $SPIKELET_DATA, else ./data]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,

    /// Fetch the files if they are not there
    #[arg(long)]
    download: bool,

    /// Use only the first images for training
    #[arg(long, value_name = "N", value_parser = count)]
    train_images: Option<usize>,

    /// Use only the first images for testing
    #[arg(long, value_name = "N", value_parser = count)]
    test_images: Option<usize>,
}

impl DataName {
    /// The data set of this name in checkpoints.
    pub fn of_dataset(name: &str) -> Option<Self> {
        let names = Self::value_variants().iter();
        names.copied().find(|known| known.title() == name)
    }

    fn title(self) -> String {
        match self {
            Self::Synthetic => synthetic::digits_of(SYNTHETIC_SEED, 0, 0)
                .train
                .name
                .clone(),
            Self::Mnist => mnist::source().name,
            Self::FashionMnist => fashion_mnist::source().name,
        }
    }
}

impl DataArgs {
    /// Reads or draws the data set; `otherwise` is taken where none is named.
    ///
    /// # Errors
    /// When its files are missing or damaged.
    pub fn load(&self, otherwise: DataName, console: &Console) -> Result<Split, Failure> {
        let mut split = match self.data.unwrap_or(otherwise) {
            DataName::Synthetic => synthetic::digits_of(
                SYNTHETIC_SEED,
                self.train_images.unwrap_or(60_000).min(60_000),
                self.test_images.unwrap_or(10_000).min(10_000),
            ),
            DataName::Mnist => self.read(&mnist::source(), console)?,
            DataName::FashionMnist => self.read(&fashion_mnist::source(), console)?,
        };
        keep_first(&mut split.train, self.train_images);
        keep_first(&mut split.test, self.test_images);
        Ok(split)
    }

    fn read(&self, source: &Source, console: &Console) -> Result<Split, Failure> {
        let folder = self
            .data_dir
            .clone()
            .or_else(|| variable(DATA_VARIABLE).map(PathBuf::from));
        let folder = folder.unwrap_or_else(|| PathBuf::from(FOLDER));
        let loaded = if self.download {
            let bar = console.output() == Output::Text;
            source.load_or_download(&folder, if bar { Progress::Bar } else { Progress::Quiet })
        } else {
            source.load(&folder)
        };
        loaded.map_err(|e| spikelet::Error::from(e).into())
    }
}

fn keep_first(dataset: &mut Arc<Dataset>, images: Option<usize>) {
    let kept = images.unwrap_or(usize::MAX).min(dataset.len());
    // Nobody else holds what was just loaded: nothing is copied.
    let dataset = Arc::make_mut(dataset);
    dataset.images.truncate(kept * dataset.image_len());
    dataset.labels.truncate(kept);
}
