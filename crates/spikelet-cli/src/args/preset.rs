//! The settings that a network starts from.

use super::DataName;
use crate::failure::Failure;
use clap::ValueEnum;
use serde_json::Value;
use spikelet::network::Network;
use spikelet::train::Settings;

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

    /// The data set of the preset, if the network starts from it.
    pub fn dataset(&self, network: &Network) -> Option<DataName> {
        let name = match network {
            Network::MnistFc(_) => "mnist",
            Network::Csnn(_) | Network::PlifNet(_) => "fashion-mnist",
            Network::Cifar10Net(_) | Network::ResNet18(_) => "cifar10",
            _ => return None,
        };
        DataName::find(name).filter(|_| self.is_given())
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

    /// The network and the settings to start from.
    ///
    /// # Errors
    /// When the network has no preset of this name.
    pub fn start(&self, network: &Network) -> Result<(Network, Settings), Failure> {
        if !self.is_given() {
            return Ok((network.clone(), Settings::of_network(network)));
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
        Ok((start, Settings::preset_of(network)))
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
                match given.start(&network) {
                    Ok((start, settings)) => {
                        assert!(known, "{name}");
                        assert_eq!(start, network.preset());
                        assert_eq!(settings, Settings::preset_of(&network));
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
                let (mut network, _) = start.start(&network).expect("it has a preset");
                let neuron = neuron::from_spec(network.neuron_mut()).expect("a neuron");
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
            let (_, settings) = own().start(&network).expect("it has a preset");
            assert_eq!(settings.epochs, epochs, "{name}");
            assert_eq!(own().dataset(&network), DataName::find(data), "{name}");
            assert_eq!(PresetArgs::default().dataset(&network), None);
        }
    }

    #[test]
    fn without_a_preset_a_network_starts_from_its_defaults() {
        for name in Network::NAMES {
            let network = Network::find(name).expect("it is known");
            let start = PresetArgs::default().start(&network);
            let (start, settings) = start.expect("defaults are sound");
            assert_eq!(
                (&start, settings),
                (&network, Settings::of_network(&network))
            );
        }
    }
}
