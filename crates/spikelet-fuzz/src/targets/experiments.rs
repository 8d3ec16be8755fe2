//! Files that people write.

use spikelet::network::Network;
use spikelet::recipes;
use spikelet::train::experiment::Experiment;
use std::path::Path;

/// Experiments of named networks and of lists of layers.
pub fn corpus(_: &Path) -> Vec<Vec<u8>> {
    let mut texts = vec![];
    for name in Network::SMALL {
        let network = Network::find(name).expect("it is known");
        let experiment = Experiment::of_network(network);
        texts.push(experiment.to_toml());
    }
    texts.extend(recipes::all().iter().map(|recipe| recipe.text.to_string()));
    texts.into_iter().map(String::into_bytes).collect()
}

/// A file that is read is written as a text that is read as the same experiment.
pub fn run(bytes: &[u8], _: &Path) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    // Errors are expected.
    let Ok(experiment) = Experiment::from_toml("run.toml", text) else {
        return;
    };
    let written = experiment.to_toml();
    match Experiment::from_toml("written.toml", &written) {
        Ok(again) => assert_eq!(again.to_toml(), written),
        Err(error) => panic!("{error}\n{written}"),
    }
}
