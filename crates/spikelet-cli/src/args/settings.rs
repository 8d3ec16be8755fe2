//! How to train, as it is said on the command line.

use super::count;
use spikelet::optim::{Adam, AnyOptimizer, Clip, Schedule, Sgd};
use spikelet::train::{Loss, Settings};

/// Training settings; what is not given stays as it is.
#[derive(clap::Args, Clone, Debug)]
pub struct SettingsArgs {
    /// Steps of a sequence
    #[arg(long, short = 'T', value_name = "T", value_parser = count)]
    time_steps: Option<usize>,

    /// Images of a batch
    #[arg(long, short, value_name = "N", value_parser = count)]
    batch_size: Option<usize>,

    /// How an image becomes a sequence
    #[arg(long, value_name = "NAME", value_parser = ["direct", "poisson"])]
    encoder: Option<String>,

    /// Optimiser
    #[arg(long, value_name = "NAME", value_parser = ["adam", "sgd"])]
    optimizer: Option<String>,

    /// What training makes small
    #[arg(long, value_name = "NAME", value_parser = ["cross-entropy", "one-hot-error"])]
    loss: Option<String>,

    /// Scale gradients so that their norm is at most this
    #[arg(long, value_name = "X", value_parser = positive, allow_negative_numbers = true)]
    clip_norm: Option<f64>,
}

/// A number above 0.
pub fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x > 0.0 && x.is_finite() => Ok(x),
        _ => Err("give a number above 0".to_string()),
    }
}

impl SettingsArgs {
    /// The settings: those of SpikingFlow's tutorial or the defaults, with what is given.
    pub fn build(&self, tutorial: bool) -> Settings {
        let mut settings = if tutorial {
            of_tutorial()
        } else {
            Settings::default()
        };
        settings.time_steps = self.time_steps.unwrap_or(settings.time_steps);
        settings.batch_size = self.batch_size.unwrap_or(settings.batch_size);
        if let Some(name) = &self.encoder {
            settings.encoder = name.clone();
        }
        settings.optimizer = match self.optimizer.as_deref() {
            Some("sgd") => AnyOptimizer::Sgd(Sgd {
                momentum: 0.9,
                ..Sgd::default()
            }),
            Some(_) => AnyOptimizer::Adam(Adam::default()),
            None => settings.optimizer,
        };
        settings.loss = match self.loss.as_deref() {
            Some("one-hot-error") => Loss::OneHotError,
            Some(_) => Loss::CrossEntropy,
            None => settings.loss,
        };
        settings.clip = self.clip_norm.map(Clip::Norm).or(settings.clip);
        settings
    }
}

fn of_tutorial() -> Settings {
    Settings {
        time_steps: 50,
        batch_size: 256,
        learning_rate: 1e-2,
        schedule: Schedule::Constant,
        encoder: "poisson".to_string(),
        ..Settings::default()
    }
}
