//! Lists of monitors, as on the command line and in experiment files.

use crate::Monitor;
use serde_json::{Value, json};
use spikelet_schema::document::{Located, Node};
use spikelet_schema::{Field, FieldValue, Kind, UnknownName};
use std::fmt;
use std::str::FromStr;

/// Monitors, and the pattern of the layers that they measure.
///
/// ```
/// use spikelet_train::Monitor;
/// use spikelet_train::experiment::LayerMonitors;
/// let given: LayerMonitors = "rate=fc.*".parse()?;
/// assert_eq!((given.monitors, given.pattern.as_str()), (vec![Monitor::Rate], "fc.*"));
/// # Ok::<(), spikelet_schema::UnknownName>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayerMonitors {
    /// The monitors.
    pub monitors: Vec<Monitor>,
    /// The pattern of names of layers, or of parameters for gradients.
    pub pattern: String,
}

/// The name of all monitors together.
const ALL: &str = "all";

/// `NAME` or `NAME=PATTERN`.
impl FromStr for LayerMonitors {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let (name, pattern) = text.split_once('=').unwrap_or((text, "*"));
        let monitors = match name.trim() {
            ALL => Monitor::ALL.to_vec(),
            name => vec![Monitor::find(name)?],
        };
        let pattern = pattern.trim().to_string();
        Ok(Self { monitors, pattern })
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
