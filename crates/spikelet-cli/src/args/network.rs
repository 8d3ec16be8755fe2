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

    /// Neurons of the hidden layer
    #[arg(long, help_heading = "Network", value_name = "N", value_parser = hidden)]
    hidden: Option<usize>,

    /// The neuron (see `spikelet neuron list`)
    #[arg(long = "neuron", help_heading = "Neuron", value_name = "NEURON", value_parser = neuron_names(), hide_possible_values = true)]
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
    /// The network: that of SpikingFlow's tutorial or the default, with what is given.
    ///
    /// # Errors
    /// When a constant of the neuron is unknown or of the wrong kind.
    pub fn build(&self, start: Option<MnistFc>) -> Result<Network, Failure> {
        let mut network = Network::find(&self.name)?;
        let Network::MnistFc(net) = &mut network;
        if let Some(start) = start {
            *net = start;
        }
        net.hidden = self.hidden.unwrap_or(net.hidden);
        net.neuron = self
            .neuron
            .spec_over(self.neuron_name.as_deref(), &net.neuron)?;
        Ok(network)
    }
}
