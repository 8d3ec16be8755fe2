//! Where a network and its settings start from.

use super::positive;
use crate::failure::Failure;
use serde_json::Value;
use spikelet::network::Network;
use spikelet::neuron;
use spikelet::train::Settings;

/// Whether to start from the network's tutorial.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub struct TutorialArgs {
    /// Start from the network's tutorial instead of its defaults: SpikingFlow's for mnist-fc (tau
    /// 100, sigmoid with alpha 1) and cifar10-net, SpikingJelly's for csnn
    #[arg(long, help_heading = "Network")]
    tutorial: bool,

    /// The tutorial's time constant, in steps; means --tutorial
    #[arg(long, help_heading = "Network", value_name = "X", value_parser = positive, allow_negative_numbers = true)]
    tau: Option<f64>,
}

impl TutorialArgs {
    /// The tutorial as it is.
    pub const PLAIN: Self = Self {
        tutorial: true,
        tau: None,
    };

    /// The network and the settings to start from.
    ///
    /// # Errors
    /// When a time constant is given and the tutorial's neuron has none.
    pub fn start(&self, network: &Network) -> Result<(Network, Settings), Failure> {
        if !self.tutorial && self.tau.is_none() {
            return Ok((network.clone(), network.settings()));
        }
        let mut start = network.tutorial();
        if let Some(tau) = self.tau {
            set_tau(&mut start, tau)?;
        }
        Ok((start, network.tutorial_settings()))
    }
}

fn set_tau(network: &mut Network, tau: f64) -> Result<(), Failure> {
    let name = network.name();
    let spec = network.neuron_mut();
    let neuron = spec["neuron"].as_str().unwrap_or_default().to_string();
    let known = neuron::find(&neuron)
        .map_err(|problem| Failure::argument(problem, "see `spikelet neuron list`"))?;
    if !(known.defaults)().contains_key("tau") {
        return Err(Failure::argument(
            format!("the neuron of {name}'s tutorial, `{neuron}`, has no time constant"),
            format!("leave --tau out, or write --neuron lif --set tau={tau}"),
        ));
    }
    spec["params"]["tau"] = Value::from(tau);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &str, tau: Option<f64>) -> Result<(Network, Settings), Failure> {
        let network = Network::find(name).expect("it is known");
        let tutorial = TutorialArgs {
            tutorial: false,
            tau,
        };
        tutorial.start(&network)
    }

    #[test]
    fn a_time_constant_goes_into_the_tutorials_neuron() {
        for name in ["mnist-fc", "cifar10-net"] {
            let (mut network, settings) = with(name, Some(7.0)).expect("it has one");
            assert_eq!(network.neuron_mut()["params"]["tau"], 7.0);
            assert_eq!(settings, network.tutorial_settings());
        }
        let refused = with("csnn", Some(7.0)).expect_err("it has none");
        assert!(refused.to_string().contains("`if`, has no time constant"));
    }

    #[test]
    fn without_a_word_a_network_starts_from_its_defaults() {
        for name in Network::NAMES {
            let network = Network::find(name).expect("it is known");
            let (start, settings) = with(name, None).expect("defaults are sound");
            assert_eq!((&start, settings), (&network, network.settings()));
        }
    }
}
