//! Monitors of layers on the command line.

use spikelet::train::Monitor;

/// Monitors, and the pattern of the layers that they measure.
#[derive(Clone, Debug)]
pub struct Monitors {
    pub which: Vec<Monitor>,
    pub pattern: String,
}

impl Monitors {
    /// Reads `NAME` or `NAME=PATTERN`.
    ///
    /// # Errors
    /// For an unknown name.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, pattern) = text.split_once('=').unwrap_or((text, "*"));
        let known = Monitor::ALL.into_iter();
        let which: Vec<Monitor> = match name.trim() {
            "all" => known.collect(),
            name => known.filter(|monitor| monitor.name() == name).collect(),
        };
        if which.is_empty() {
            let names = Monitor::ALL.map(Monitor::name).join(", ");
            return Err(format!(
                "there are {names} and all, as in rate,neurons=fc.*"
            ));
        }
        let pattern = pattern.trim().to_string();
        Ok(Self { which, pattern })
    }
}
