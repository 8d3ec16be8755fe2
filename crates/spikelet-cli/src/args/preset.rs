//! The settings that a network starts from.

use super::NetworkName;
use crate::failure::Failure;
use clap::ValueEnum;
use serde_json::Value;
use spikelet::network::Network;
use spikelet::train::Settings;
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

    /// The data set of the network's preset.
    fn dataset(&self, network: &Network) -> Option<&'static str> {
        match network {
            Network::MnistFc(_) => Some("mnist"),
            Network::Csnn(_) | Network::PlifNet(_) => Some("fashion-mnist"),
            Network::Cifar10Net(_) | Network::ResNet18(_) => Some("cifar10"),
            _ => None,
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
        if !self.is_given() {
            return Ok(Experiment::of_network(network));
        }
        let given = self.preset.map(Preset::name);
        if let Some(name) = given.filter(|name| !network.presets().contains(name)) {
            let help = match network.presets() {
                [] => "leave --preset out: the defaults are those of its source".to_string(),
                presets => format!("its presets: {}", presets.join(", ")),
            };
            let problem = format!("{} has no preset `{name}`", network.name());
            return Err(Failure::argument(problem, help));
        }
        let mut start = network.preset();
        let neuron = &mut start.neuron_mut()["neuron"];
        if self.compared && neuron == "soft_pulse_lif" {
            *neuron = Value::from("lif");
        }
        let mut experiment = Experiment::new(start, Settings::preset_of(&network));
        experiment.data.dataset = self.dataset(&network).map(String::from);
        Ok(experiment)
    }
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
        for name in Network::NAMES {
            let network = Network::find(name).expect("it is known");
            for preset in [Preset::SpikingFlow, Preset::SpikingJelly] {
                let given = PresetArgs {
                    preset: Some(preset),
                    ..PresetArgs::default()
                };
                let known = network.presets().contains(&preset.name());
                match given.start(network.clone()) {
                    Ok(start) => {
                        assert!(known, "{name}");
                        assert_eq!(start.network, network.preset());
                        assert_eq!(start.settings, Settings::preset_of(&network));
                    }
                    Err(Failure::Argument { help, .. }) => {
                        let own = network.presets().first().copied();
                        let named = help.contains(own.unwrap_or("leave --preset out"));
                        assert!(!known && named, "{help}");
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
            ("mnist-fc", 1000, "mnist"),
            ("csnn", 64, "fashion-mnist"),
            ("cifar10-net", 100, "cifar10"),
            ("plif-net", 50, "fashion-mnist"),
            ("resnet18", 100, "cifar10"),
        ] {
            let network = Network::find(name).expect("it is known");
            let start = own().start(network.clone()).expect("it has a preset");
            assert_eq!(start.settings.epochs, epochs, "{name}");
            assert_eq!(start.data.dataset.as_deref(), Some(data), "{name}");
        }
    }

    #[test]
    fn without_a_preset_a_network_starts_from_its_defaults() {
        for name in Network::NAMES {
            let network = Network::find(name).expect("it is known");
            let start = PresetArgs::default().start(network.clone());
            let start = start.expect("defaults are sound");
            assert_eq!(start, Experiment::of_network(network));
        }
    }
}
