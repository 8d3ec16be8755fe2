//! A data set of samples of all types, with transforms, and loaders over it.

use spikelet_data::*;
use std::sync::Arc;

/// Samples of all types, different for each index: a video of 3 frames, a padded walk of 1 to 5 steps, a raster, events,
/// two targets.
#[derive(Debug)]
pub struct Mixed {
    pub len: usize,
    /// The sample that cannot be read.
    pub damaged: Option<usize>,
}

pub fn mixed(len: usize) -> Arc<Mixed> {
    Arc::new(Mixed { len, damaged: None })
}

impl Dataset for Mixed {
    fn name(&self) -> &str {
        "mixed"
    }

    fn len(&self) -> usize {
        self.len
    }

    fn fields(&self) -> Vec<Field> {
        let mut video = Field::new("video", DType::U8, [3, 1, 4, 6]).sequence();
        video.image = true;
        vec![
            video,
            Field::new("walk", DType::F32, [5, 2])
                .sequence()
                .pad(-1.0)
                .variable_axis(0),
            Field::new("raster", DType::Bits, [4, 70]).sequence(),
            Field::events("events"),
            Field::new("labels", DType::I64, []),
            Field::new("position", DType::F32, [2]),
        ]
    }

    fn sample(&self, index: usize) -> Result<Sample<'_>> {
        if self.damaged == Some(index) {
            return Err(Error::custom(format!("recording {index} ends early")));
        }
        let video: Vec<u8> = (0..72).map(|k| (k * 7 + index * 13) as u8).collect();
        let steps = 1 + index % 5;
        let walk: Vec<f32> = (0..steps * 2).map(|k| (index * 100 + k) as f32).collect();
        let raster: Vec<u8> = (0..280)
            .map(|k| u8::from((k + index).is_multiple_of(3)))
            .collect();
        let events = index % 3;
        Ok(Sample::new()
            .with("video", SampleTensor::u8(&[3, 1, 4, 6], video))
            .with("walk", SampleTensor::f32(&[steps, 2], walk))
            .with(
                "raster",
                SampleTensor::bits(&[4, 70], pack_bits(&raster, &[4, 70])),
            )
            .with(
                "events",
                SampleTensor::events(Events {
                    t: (0..events as i64).collect(),
                    x: vec![index as u16; events].into(),
                    y: vec![0; events].into(),
                    p: vec![1; events].into(),
                }),
            )
            .with("labels", SampleTensor::i64(&[], vec![index as i64]))
            .with("position", SampleTensor::f32(&[2], vec![index as f32, 0.5])))
    }

    fn digest(&self) -> Result<[u8; 32]> {
        Ok([7; 32])
    }
}

/// Adds noise to the position and swaps the frames with probability 1/2.
#[derive(Debug)]
pub struct Jitter;

impl Transform for Jitter {
    fn apply(&self, sample: &mut Sample<'_>, random: &mut SampleRandom) -> Result<()> {
        if random.chance(0.5)
            && let Values::U8(video) = &mut sample.require_mut("video")?.values
        {
            video.to_mut().reverse();
        }
        if let Values::F32(position) = &mut sample.require_mut("position")?.values {
            for value in position.to_mut() {
                *value += random.normal();
            }
        }
        Ok(())
    }
}

/// Adds a mixing weight for each sample.
#[derive(Debug)]
pub struct Weights;

impl BatchTransform for Weights {
    fn apply(&self, batch: &mut Batch, random: &mut SampleRandom) -> Result<()> {
        let weights: Vec<f32> = (0..batch.len()).map(|_| random.unit()).collect();
        batch.insert("weights", BatchTensor::f32(&[weights.len()], weights));
        Ok(())
    }

    fn fields(&self, mut fields: Vec<Field>) -> Result<Vec<Field>> {
        fields.push(Field::new("weights", DType::F32, []));
        Ok(fields)
    }
}

pub fn config(batch_size: usize, threads: usize) -> LoaderConfig {
    LoaderConfig {
        batch_size,
        threads,
        seed: 5,
        augment: Augment {
            flip: true,
            crop_padding: 1,
            ..Augment::default()
        },
        normalize: Some(Normalize {
            mean: vec![0.5],
            std: vec![0.25],
        }),
        ..LoaderConfig::default()
    }
}

pub fn loader(len: usize, batch_size: usize, threads: usize) -> DataLoader {
    DataLoader::new(mixed(len), config(batch_size, threads))
        .and_then(|loader| loader.transform(Jitter))
        .and_then(|loader| loader.batch_transform(Weights))
        .unwrap()
}

pub fn all(batches: impl Iterator<Item = Result<Batch>>) -> Vec<Batch> {
    batches.map(Result::unwrap).collect()
}
