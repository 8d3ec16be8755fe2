//! The errors of counts.

/// Counts that contradict each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EnergyError {
    /// Nothing was counted.
    #[error("the counts are of 0 samples\n  help: run at least one sample")]
    NoSamples,
    /// A layer did not run.
    #[error(
        "layer `{layer}` has 0 passes\n  help: give the number of time steps that it runs, or 1"
    )]
    NoPasses {
        /// The layer.
        layer: String,
    },
    /// A count is larger than its largest possible value.
    #[error(
        "layer `{layer}`: {count} {name}, but at most {most} are possible\n  \
         help: counts are sums over all samples and time steps, sizes are those of one pass of one sample"
    )]
    TooMany {
        /// The layer.
        layer: String,
        /// The name of the count.
        name: &'static str,
        /// The count.
        count: u64,
        /// Its largest possible value.
        most: u64,
    },
}

impl spikelet_core::OtherError for EnergyError {}
