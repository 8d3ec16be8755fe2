//! The settings of networks.

use crate::Settings;
use crate::experiment::Experiment;
use spikelet_core::document::Document;
use spikelet_nn::network::Network;

impl Settings {
    /// The default settings of a network: those of its model, see [`Model::settings`](spikelet_nn::network::Model::settings).
    ///
    /// ```
    /// use spikelet_nn::network::Network;
    /// use spikelet_train::Settings;
    /// let settings = Settings::of_network(&Network::find("csnn")?);
    /// assert_eq!((settings.time_steps, settings.epochs), (4, 64));
    /// # Ok::<(), spikelet_core::Error>(())
    /// ```
    pub fn of_network(network: &Network) -> Self {
        let Network::Model(model) = network else {
            return Self::default();
        };
        let start = Self {
            time_steps: model.time_steps(),
            ..Self::default()
        };
        let mut experiment = Experiment::new(network.clone(), start);
        let tables = Document::from_toml(model.name(), model.settings());
        let read = tables.and_then(|tables| experiment.change(&tables));
        read.expect("the settings of models are sound");
        experiment.settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spikelet_nn::network::Model;

    #[test]
    fn the_settings_of_every_model_are_sound() {
        for name in Model::names() {
            let network = Network::find(name).expect("it is known");
            let settings = Settings::of_network(&network);
            assert!(settings.check().is_ok(), "{name}");
        }
    }
}
