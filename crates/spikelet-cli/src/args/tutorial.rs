//! Where a network and its settings start from.

use super::{DataName, NeuronArgs, positive, value};
use crate::failure::Failure;
use serde_json::Value;
use spikelet::network::Network;
use spikelet::neuron;
use spikelet::train::Settings;

/// Whether to start from the network's tutorial.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub struct TutorialArgs {
    /// Start from the network's tutorial instead of its defaults, on the tutorial's data set:
    /// SpikingFlow's for mnist-fc (MNIST) and cifar10-net (CIFAR-10), both with the neuron
    /// soft_pulse_lif (tau 100, sigmoid with alpha 1, soft reset gradient); SpikingJelly's for csnn
    /// (Fashion-MNIST)
    #[arg(long, help_heading = "Network")]
    tutorial: bool,

    /// The tutorial's time constant, in steps, above 1; means --tutorial
    #[arg(long, help_heading = "Network", value_name = "X", value_parser = positive, allow_negative_numbers = true)]
    tau: Option<f64>,

    /// Whether the network is that of a benchmark.
    #[arg(skip)]
    compared: bool,
}

impl TutorialArgs {
    /// The tutorial as benchmarks measure it, see [`TutorialArgs::compared`].
    pub const COMPARED: Self = Self {
        tutorial: true,
        tau: None,
        compared: true,
    };

    /// The tutorial with the neuron that other libraries have too: `lif`, whose reset has the
    /// surrogate's gradient. So figures stay comparable with theirs.
    pub fn compared(self) -> Self {
        Self {
            compared: true,
            ..self
        }
    }

    /// The data set of the tutorial, if the network starts from it.
    pub fn dataset(&self, network: &Network) -> Option<DataName> {
        self.is_given().then_some(match network {
            Network::MnistFc(_) => DataName::Mnist,
            Network::Csnn(_) => DataName::FashionMnist,
            Network::Cifar10Net(_) => DataName::Cifar10,
        })
    }

    /// Whether a network starts from it.
    pub fn is_given(&self) -> bool {
        self.tutorial || self.tau.is_some()
    }

    /// Refuses a time constant that nothing or something else would make of no effect.
    ///
    /// # Errors
    /// When `tau` is set by `--set` as well, or the neuron is another one than the tutorial's, whose
    /// specification is `own`.
    pub fn check(
        &self,
        own: &Value,
        name: Option<&str>,
        neuron: &NeuronArgs,
    ) -> Result<(), Failure> {
        let Some(tau) = self.tau else {
            return Ok(());
        };
        let own = own["neuron"].as_str().unwrap_or_default();
        if let Some(name) = name.filter(|name| *name != own) {
            return Err(Failure::argument(
                format!(
                    "--tau is the time constant of the tutorial's neuron `{own}`, not of `{name}`"
                ),
                format!("write --tutorial --neuron {name}, and --set KEY=VALUE for its constants"),
            ));
        }
        match neuron.set.iter().find(|setting| setting.key == "tau") {
            None => Ok(()),
            Some(set) => Err(Failure::argument(
                format!(
                    "the time constant is given twice: --tau {tau} and --set tau={}",
                    value::text(&set.value)
                ),
                "give one of them",
            )),
        }
    }

    /// The name of a network with whose settings it starts, for the first line of a run.
    pub fn describe(&self, name: &str) -> String {
        match (self.tutorial, self.tau) {
            (false, None) => name.to_string(),
            (true, None) => format!("{name} (as in its tutorial)"),
            (_, Some(tau)) => format!("{name} (as in its tutorial, with tau {tau})"),
        }
    }

    /// The network and the settings to start from.
    ///
    /// # Errors
    /// When a time constant is given and the tutorial's neuron has none.
    pub fn start(&self, network: &Network) -> Result<(Network, Settings), Failure> {
        if !self.is_given() {
            return Ok((network.clone(), Settings::of_network(network)));
        }
        let mut start = network.tutorial();
        let neuron = &mut start.neuron_mut()["neuron"];
        if self.compared && neuron == "soft_pulse_lif" {
            *neuron = Value::from("lif");
        }
        if let Some(tau) = self.tau {
            set_tau(&mut start, tau)?;
        }
        Ok((start, Settings::preset_of(network)))
    }
}

fn set_tau(network: &mut Network, tau: f64) -> Result<(), Failure> {
    let name = network.name();
    let spec = network.neuron_mut();
    let neuron = spec["neuron"].as_str().unwrap_or_default().to_string();
    let known = neuron::find(&neuron)
        .map_err(|error| Failure::argument(error.to_string(), "see `spikelet neuron list`"))?;
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
    use spikelet::neuron::ResetGrad;

    fn with(name: &str, tau: Option<f64>) -> Result<(Network, Settings), Failure> {
        let network = Network::find(name).expect("it is known");
        let tutorial = TutorialArgs {
            tau,
            ..TutorialArgs::default()
        };
        tutorial.start(&network)
    }

    #[test]
    fn a_time_constant_goes_into_the_tutorials_neuron() {
        for name in ["mnist-fc", "cifar10-net"] {
            let (mut network, settings) = with(name, Some(7.0)).expect("it has one");
            assert_eq!(network.neuron_mut()["params"]["tau"], 7.0);
            assert_eq!(settings, Settings::preset_of(&network));
        }
        let refused = with("csnn", Some(7.0)).expect_err("it has none");
        assert!(refused.to_string().contains("`if`, has no time constant"));
    }

    #[test]
    fn spikingflows_tutorials_reset_softly_backwards_and_benchmarks_as_other_libraries() {
        for name in ["mnist-fc", "cifar10-net"] {
            let network = Network::find(name).expect("it is known");
            let reset_grad = |start: TutorialArgs| {
                let (mut network, _) = start.start(&network).expect("it has a tutorial");
                let neuron = neuron::from_spec(network.neuron_mut()).expect("a neuron");
                let surrogate = neuron.common().surrogate.spec();
                assert_eq!(
                    surrogate,
                    serde_json::json!({"name": "sigmoid", "alpha": 1.0})
                );
                neuron.common().reset_grad
            };
            let tutorial = TutorialArgs {
                tutorial: true,
                ..TutorialArgs::default()
            };
            assert_eq!(reset_grad(tutorial), ResetGrad::Soft);
            assert_eq!(reset_grad(tutorial.compared()), ResetGrad::Surrogate);
        }
    }

    #[test]
    fn tutorials_run_as_long_and_on_the_data_that_they_name() {
        let given = TutorialArgs {
            tutorial: true,
            ..TutorialArgs::default()
        };
        for (name, epochs, data) in [
            ("mnist-fc", 1000, DataName::Mnist),
            ("csnn", 64, DataName::FashionMnist),
            ("cifar10-net", 100, DataName::Cifar10),
        ] {
            let network = Network::find(name).expect("it is known");
            let (_, settings) = given.start(&network).expect("it has a tutorial");
            assert_eq!(settings.epochs, epochs, "{name}");
            assert_eq!(given.dataset(&network), Some(data), "{name}");
            assert_eq!(TutorialArgs::default().dataset(&network), None);
        }
    }

    #[test]
    fn without_a_word_a_network_starts_from_its_defaults() {
        for name in Network::NAMES {
            let network = Network::find(name).expect("it is known");
            let (start, settings) = with(name, None).expect("defaults are sound");
            assert_eq!(
                (&start, settings),
                (&network, Settings::of_network(&network))
            );
        }
    }
}
