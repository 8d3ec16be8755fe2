//! The weights of another run or framework from which a run starts.

use super::Run;
use crate::SampleShape;
use crate::folder::checkpoint_file;
use crate::weights::InitialWeights;
use spikelet_core::{Result, files};

impl Run<'_> {
    /// Reads the weights of [`Trainer::init_from`](crate::Trainer::init_from), unless the run is resumed. Rank 0 reads the
    /// file for all ranks.
    pub(super) fn initialize(&mut self, resumes: bool) -> Result<()> {
        let Some(path) = self.trainer.init_from.as_ref().filter(|_| !resumes) else {
            return Ok(());
        };
        let leads = self.together.leads();
        let path = match leads {
            true => checkpoint_file(path)?,
            false => path.clone(),
        };
        let bytes = match leads {
            true => files::read(&path)?,
            false => vec![],
        };
        let bytes = self.together.broadcast_from_rank0(bytes)?;
        let found = match (self.trainer.trained.module(), self.sample) {
            (Some(module), Some(sample)) => {
                let input = match sample {
                    SampleShape::Image(image) => {
                        [&[self.settings.time_steps, 1], &image[..]].concat()
                    }
                    SampleShape::Sequence { steps, shape, .. } => {
                        [&[steps, 1], shape.sizes()].concat()
                    }
                };
                InitialWeights::from_bytes(bytes, &path, &**module, &input)?
            }
            _ => InitialWeights::of_step(bytes, &path, &self.engine.model(), &self.store)?,
        };
        for (name, tensor) in &found.tensors {
            self.store.set(name, tensor)?;
            // Averages start from the same values.
            let average = format!("ema.{name}");
            if self.store.ty(&average).is_some() {
                self.store.set(&average, tensor)?;
            }
        }
        self.initial_weights = Some(found);
        Ok(())
    }
}
