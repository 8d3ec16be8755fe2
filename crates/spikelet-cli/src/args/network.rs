//! A network as it is named on the command line.

use super::{NeuronArgs, count, neuron_names};
use crate::failure::Failure;
use spikelet::network::{MnistFc, Network};

/// A network with its settings.
#[derive(clap::Args, Debug)]
pub struct NetworkArgs {
    /// The network
    #[arg(value_name = "NETWORK", default_value = "mnist-fc", value_parser = ["mnist-fc"])]
    name: String,

    /// Start from SpikingFlow's tutorial: tau 100, sigmoid with alpha 1, 50 time steps of Poisson
    /// spikes, batches of 256, Adam at a constant 1e-2
    #[arg(long)]
    pub tutorial: bool,

    /// Neurons of the hidden layer
    #[arg(long, value_name = "N", value_parser = hidden)]
    hidden: Option<usize>,

    /// The neuron (see `spikelet neuron list`)
    #[arg(long = "neuron", value_name = "NEURON", value_parser = neuron_names(), hide_possible_values = true)]
    neuron_name: Option<String>,

    #[command(flatten)]
    neuron: NeuronArgs,
}

/// More neurons in a layer than any machine can hold the weights of.
const MOST: usize = 1 << 20;

fn hidden(text: &str) -> Result<usize, String> {
    count(text).and_then(|n| {
        if n <= MOST {
            Ok(n)
        } else {
            Err(format!("use at most {MOST}"))
        }
    })
}

impl NetworkArgs {
    /// The network.
    ///
    /// # Errors
    /// When a constant of the neuron is unknown or of the wrong kind.
    pub fn build(&self) -> Result<Network, Failure> {
        let mut network = Network::find(&self.name)?;
        let Network::MnistFc(net) = &mut network;
        if self.tutorial {
            *net = MnistFc::tutorial();
        }
        net.hidden = self.hidden.unwrap_or(net.hidden);
        net.neuron = self
            .neuron
            .spec_over(self.neuron_name.as_deref(), &net.neuron)?;
        Ok(network)
    }
}
