//! How to train, as it is said on the command line.

use super::{count, precisions, propagations};
use spikelet::module::{Precision, Propagation};
use spikelet::network::MnistFc;
use spikelet::optim::{Adam, AnyOptimizer, Clip, Sgd};
use spikelet::train::{Loss, Settings};

/// Whether to start from SpikingFlow's tutorial.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct TutorialArgs {
    /// Start from SpikingFlow's tutorial: tau 100, sigmoid with alpha 1, 50 time steps of Poisson
    /// spikes, batches of 256, cross entropy, Adam at a constant 1e-2
    #[arg(long, help_heading = "Network")]
    tutorial: bool,

    /// The tutorial's time constant, in steps; means --tutorial
    #[arg(long, help_heading = "Network", value_name = "X", value_parser = positive, allow_negative_numbers = true)]
    tau: Option<f64>,
}

impl TutorialArgs {
    /// Whether to start from the tutorial.
    pub fn wanted(&self) -> bool {
        self.tutorial || self.tau.is_some()
    }

    /// The tutorial's network, if it is wanted.
    pub fn network(&self) -> Option<MnistFc> {
        self.wanted().then(|| match self.tau {
            Some(tau) => MnistFc::tutorial_with(tau),
            None => MnistFc::tutorial(),
        })
    }
}

/// Settings of a training step; what is not given stays as it is.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Training")]
pub struct SettingsArgs {
    #[arg(help = described("Steps of a sequence", |s| s.time_steps.to_string()), long, short = 'T', value_name = "T", value_parser = count)]
    time_steps: Option<usize>,

    #[arg(help = described("Images of a batch", |s| s.batch_size.to_string()), long, short, value_name = "N", value_parser = count)]
    batch_size: Option<usize>,

    #[arg(help = described("How an image becomes a sequence", |s| s.encoder.clone()), long, value_name = "NAME", value_parser = ["direct", "poisson"])]
    encoder: Option<String>,

    #[arg(help = described("Optimiser", optimizer_name), long, value_name = "NAME", value_parser = ["adam", "sgd"])]
    optimizer: Option<String>,

    #[arg(help = described("What training makes small", loss_name), long, value_name = "NAME", value_parser = ["cross-entropy", "one-hot-error"])]
    loss: Option<String>,

    /// The order in which layers and time steps run [default: layer-by-layer]
    #[arg(long, value_name = "ORDER", value_parser = propagations())]
    propagation: Option<Propagation>,

    /// The numbers of products and sequences [default: f32]
    #[arg(long, value_name = "TYPE", value_parser = precisions())]
    precision: Option<Precision>,

    /// Scale gradients so that their norm is at most this
    #[arg(long, value_name = "X", value_parser = positive, allow_negative_numbers = true)]
    clip_norm: Option<f64>,
}

/// What a setting is, with its defaults.
pub fn described(what: &str, value: impl Fn(&Settings) -> String) -> String {
    let [usual, tutorial] =
        [Settings::default(), Settings::tutorial()].map(|settings| value(&settings));
    if usual == tutorial {
        format!("{what} [default: {usual}]")
    } else {
        format!("{what} [default: {usual}; tutorial: {tutorial}]")
    }
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
            Settings::tutorial()
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
        settings.propagation = self.propagation.unwrap_or(settings.propagation);
        settings.precision = self.precision.unwrap_or(settings.precision);
        settings.clip = self.clip_norm.map(Clip::Norm).or(settings.clip);
        settings
    }
}

fn optimizer_name(settings: &Settings) -> String {
    let name = match settings.optimizer {
        AnyOptimizer::Sgd(_) => "sgd",
        AnyOptimizer::Adam(_) => "adam",
    };
    name.to_string()
}

fn loss_name(settings: &Settings) -> String {
    let name = match settings.loss {
        Loss::CrossEntropy => "cross-entropy",
        Loss::OneHotError => "one-hot-error",
    };
    name.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use spikelet::optim::Schedule;

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        settings: SettingsArgs,
    }

    fn built(words: &[&str], tutorial: bool) -> Settings {
        Words::parse_from([&["spikelet"], words].concat())
            .settings
            .build(tutorial)
    }

    #[test]
    fn what_is_not_given_stays_as_it_is() {
        assert_eq!(built(&[], false), Settings::default());
        let changed = built(
            &[
                "--time-steps",
                "3",
                "--optimizer",
                "sgd",
                "--loss",
                "cross-entropy",
            ],
            false,
        );
        assert_eq!((changed.time_steps, changed.loss), (3, Loss::CrossEntropy));
        assert!(matches!(changed.optimizer, AnyOptimizer::Sgd(_)));
        assert_eq!(changed.batch_size, Settings::default().batch_size);
    }

    #[test]
    fn a_propagation_is_named_as_the_library_names_it() {
        for propagation in Propagation::ALL {
            let words = ["--propagation", propagation.name()];
            assert_eq!(built(&words, false).propagation, propagation);
        }
    }

    #[test]
    fn the_tutorial_is_cross_entropy_on_fifty_steps_of_poisson_spikes() {
        let tutorial = built(&["--batch-size", "8"], true);
        assert_eq!((tutorial.time_steps, tutorial.batch_size), (50, 8));
        assert_eq!(
            (tutorial.loss, tutorial.encoder.as_str()),
            (Loss::CrossEntropy, "poisson")
        );
        assert_eq!(tutorial.schedule, Schedule::Constant);
    }
}
