//! Frameworks by name.

use spikelet_schema::Schema;

/// A framework whose weights are mapped.
///
/// ```
/// use spikelet_train::weights::Framework;
/// assert_eq!("snntorch".parse(), Ok(Framework::SnnTorch));
/// assert_eq!(Framework::SpikingJelly.to_string(), "spikingjelly");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
#[non_exhaustive]
pub enum Framework {
    /// None: names and tensors as they are in spikelet.
    Spikelet,
    /// SpikingJelly 2.0.
    #[schema(name = "spikingjelly")]
    SpikingJelly,
    /// snnTorch 1.0.
    #[schema(name = "snntorch")]
    SnnTorch,
    /// Norse 1.1.
    Norse,
    /// sparch.
    Sparch,
}
