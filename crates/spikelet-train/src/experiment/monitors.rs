//! Lists of monitors, as on the command line and in experiment files.

use crate::Monitor;
use serde_json::{Value, json};
use spikelet_schema::document::{Located, Node};
use spikelet_schema::{Field, FieldValue, Kind};
use std::fmt;
use std::str::FromStr;

/// Monitors, and the pattern of the layers that they measure.
///
/// ```
/// use spikelet_train::Monitor;
/// use spikelet_train::experiment::LayerMonitors;
/// let given: LayerMonitors = "rate=fc.*".parse()?;
/// assert_eq!((given.monitors, given.pattern.as_str()), (vec![Monitor::Rate], "fc.*"));
/// # Ok::<(), spikelet_train::experiment::ParseLayerMonitorsError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayerMonitors {
    /// The monitors.
    pub monitors: Vec<Monitor>,
    /// The pattern of names of layers, or of parameters for gradients.
    pub pattern: String,
}

/// A text that is no [`LayerMonitors`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there are {} and all, as in rate,neurons=fc.*", Monitor::ALL.map(Monitor::name).join(", "))]
pub struct ParseLayerMonitorsError;

/// The name of all monitors together.
const ALL: &str = "all";

/// `NAME` or `NAME=PATTERN`.
impl FromStr for LayerMonitors {
    type Err = ParseLayerMonitorsError;

    fn from_str(text: &str) -> Result<Self, ParseLayerMonitorsError> {
        let (name, pattern) = text.split_once('=').unwrap_or((text, "*"));
        let known = Monitor::ALL.into_iter();
        let monitors: Vec<Monitor> = match name.trim() {
            ALL => known.collect(),
            name => known.filter(|monitor| monitor.name() == name).collect(),
        };
        let pattern = pattern.trim().to_string();
        match monitors.is_empty() {
            true => Err(ParseLayerMonitorsError),
            false => Ok(Self { monitors, pattern }),
        }
    }
}

/// As it is parsed.
impl fmt::Display for LayerMonitors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.monitors[..] {
            [one] => one.name(),
            _ => ALL,
        };
        match self.pattern.as_str() {
            "*" => f.write_str(name),
            pattern => write!(f, "{name}={pattern}"),
        }
    }
}

impl FieldValue for LayerMonitors {
    fn kind() -> Kind {
        Kind::Other("a monitor, or NAME=PATTERN", || json!({"type": "string"}))
    }

    fn read(&mut self, field: &Field, node: &Node) -> Result<(), Located> {
        *self = spikelet_schema::parsed(field, node)?;
        Ok(())
    }

    fn write(&self) -> Value {
        self.to_string().into()
    }
}
