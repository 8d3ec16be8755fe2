//! The settings that a network starts from.

use super::NetworkName;
use crate::failure::Failure;
use clap::ValueEnum;
use serde_json::Value;
use spikelet::network::Network;
use spikelet::recipes::{self, Recipe};
use spikelet::train::experiment::Experiment;

/// The source of a preset's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
pub enum Preset {
    /// mnist-fc on MNIST and cifar10-net on CIFAR-10: the neuron soft_pulse_lif (tau 100, sigmoid
    /// with alpha 1, soft reset gradient)
    SpikingFlow,
    /// csnn on Fashion-MNIST
    SpikingJelly,
}

impl Preset {
    fn name(self) -> &'static str {
        match self {
            Self::SpikingFlow => "spikingflow",
            Self::SpikingJelly => "spikingjelly",
        }
    }
}

/// The preset to start from, if one is given.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub struct PresetArgs {
    /// Start from the settings and the data set of the network's source
    ///
    /// Without it, network and settings start from the defaults.
    #[arg(long, help_heading = "Network", value_name = "NAME", value_enum)]
    preset: Option<Preset>,

    /// Whether to start from the network's own preset, whatever its name.
    #[arg(skip)]
    own: bool,

    /// Whether the network is that of a benchmark.
    #[arg(skip)]
    compared: bool,
}

impl PresetArgs {
    /// The network's preset as benchmarks measure it, see [`PresetArgs::compared`].
    pub const COMPARED: Self = Self {
        preset: None,
        own: true,
        compared: true,
    };

    /// The preset with the neuron that other libraries have too, so that figures are comparable
    /// with theirs: `lif`, whose reset has the surrogate's gradient.
    pub fn compared(self) -> Self {
        Self {
            compared: true,
            ..self
        }
    }

    /// Whether a network starts from a preset.
    pub fn is_given(&self) -> bool {
        self.preset.is_some() || self.own
    }

    /// The name of a network with its preset, for the first line of a run.
    pub fn describe(&self, name: &str) -> String {
        match self.preset {
            None => name.to_string(),
            Some(preset) => format!("{name} (preset {})", preset.name()),
        }
    }

    /// Checks that no preset is given for a network in a file.
    ///
    /// # Errors
    /// When one is given.
    pub fn check(&self, file: &NetworkName) -> Result<(), Failure> {
        match self.preset {
            None => Ok(()),
            Some(preset) => Err(Failure::argument(
                format!("{} has no preset `{}`", file.text(), preset.name()),
                "leave --preset out: a file has its own settings",
            )),
        }
    }

    /// The experiment to start from.
    ///
    /// # Errors
    /// When the network has no preset of this name.
    pub fn start(&self, network: Network) -> Result<Experiment, Failure> {
        let mut experiment = match self.preset {
            None if self.own => own_preset(network)?,
            None => return Ok(Experiment::of_network(network)),
            Some(preset) => match preset_of(network.name(), preset) {
                Some(recipe) => recipe.experiment()?,
                None => return Err(no_preset(&network, preset)),
            },
        };
        let neuron = &mut experiment.network.neuron_mut()["neuron"];
        if self.compared && neuron == "soft_pulse_lif" {
            *neuron = Value::from("lif");
        }
        Ok(experiment)
    }
}

/// The recipe of a network with the settings of this source.
fn preset_of(network: &str, preset: Preset) -> Option<&'static Recipe> {
    recipes::find(&format!("{network}-{}", preset.name())).ok()
}

/// The presets of a network.
fn presets(network: &str) -> impl Iterator<Item = (Preset, &'static Recipe)> {
    let all = Preset::value_variants().iter();
    all.filter_map(move |preset| Some((*preset, preset_of(network, *preset)?)))
}

/// The experiment of a network's source: that of its preset, or its defaults with all training images.
pub fn own_preset(network: Network) -> spikelet::Result<Experiment> {
    if let Some((_, recipe)) = presets(network.name()).next() {
        return recipe.experiment();
    }
    let mut experiment = Experiment::of_network(network);
    experiment.settings.validation = 0.0;
    Ok(experiment)
}

fn no_preset(network: &Network, given: Preset) -> Failure {
    let known: Vec<&str> = presets(network.name())
        .map(|(preset, _)| preset.name())
        .collect();
    let help = match known.is_empty() {
        true => "leave --preset out: the defaults are those of its source".to_string(),
        false => format!("its presets: {}", known.join(", ")),
    };
    Failure::argument(
        format!("{} has no preset `{}`", network.name(), given.name()),
        help,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use spikelet::neuron::{self, ResetGrad};

    fn own() -> PresetArgs {
        PresetArgs {
            own: true,
            ..PresetArgs::default()
        }
    }

    #[test]
    fn a_preset_of_another_network_is_refused_with_the_networks_own() {
        for name in Network::SMALL {
            let network = Network::find(name).expect("it is known");
            for preset in [Preset::SpikingFlow, Preset::SpikingJelly] {
                let given = PresetArgs {
                    preset: Some(preset),
                    ..PresetArgs::default()
                };
                let known = preset_of(name, preset);
                match given.start(network.clone()) {
                    Ok(start) => {
                        let recipe = known.expect(name).experiment();
                        assert_eq!(start, recipe.expect("it is sound"));
                    }
                    Err(Failure::Argument { help, .. }) => {
                        let own = presets(name).next().map(|(preset, _)| preset.name());
                        let named = help.contains(own.unwrap_or("leave --preset out"));
                        assert!(known.is_none() && named, "{help}");
                    }
                    Err(other) => panic!("{other}"),
                }
            }
        }
    }

    #[test]
    fn spikingflows_presets_have_a_soft_reset_gradient_and_benchmarks_that_of_other_libraries() {
        for name in ["mnist-fc", "cifar10-net"] {
            let network = Network::find(name).expect("it is known");
            let reset_grad = |start: PresetArgs| {
                let mut start = start.start(network.clone()).expect("it has a preset");
                let neuron = neuron::from_spec(start.network.neuron_mut()).expect("a neuron");
                let surrogate = neuron.common().surrogate.spec();
                assert_eq!(
                    surrogate,
                    serde_json::json!({"name": "sigmoid", "alpha": 1.0})
                );
                neuron.common().reset_grad
            };
            assert_eq!(reset_grad(own()), ResetGrad::Soft);
            assert_eq!(reset_grad(own().compared()), ResetGrad::Surrogate);
        }
    }

    #[test]
    fn presets_run_as_long_and_on_the_data_of_their_sources() {
        for (name, epochs, data) in [
            ("mnist-fc", 1000, Some("mnist")),
            ("csnn", 64, Some("fashion-mnist")),
            ("cifar10-net", 100, Some("cifar10")),
            ("plif-net", 50, None),
            ("resnet18", 100, None),
        ] {
            let network = Network::find(name).expect("it is known");
            let start = own().start(network.clone()).expect("it has a preset");
            assert_eq!(start.settings.epochs, epochs, "{name}");
            assert_eq!(start.data.dataset.as_deref(), data, "{name}");
            assert_eq!(start.settings.validation, 0.0, "{name}");
        }
    }

    #[test]
    fn without_a_preset_a_network_starts_from_its_defaults() {
        for name in Network::SMALL {
            let network = Network::find(name).expect("it is known");
            let start = PresetArgs::default().start(network.clone());
            let start = start.expect("defaults are sound");
            assert_eq!(start, Experiment::of_network(network));
        }
    }
}
