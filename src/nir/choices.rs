//! The choices that NIR does not define.

use super::error::NirError;
use std::fmt;

/// Defines an enumeration of named choices.
macro_rules! choice {
    ($(#[$doc:meta])* $type:ident, $what:literal { $($(#[$variant_doc:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum $type {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $type {
            /// All choices.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name on the command line and in metadata.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = NirError;

            fn from_str(name: &str) -> Result<Self, NirError> {
                let found = Self::ALL.iter().copied().find(|choice| choice.name() == name);
                found.ok_or_else(|| NirError::Choice {
                    what: $what.to_string(),
                    given: name.to_string(),
                    expected: [$($name),*].join(", "),
                })
            }
        }
    };
}

choice! {
    /// The reset of a neuron that fired.
    Reset, "the reset" {
        /// The potential is v_reset, as NIR defines it.
        #[default]
        Value = "value",
        /// The threshold is subtracted; v_reset is unused.
        Subtract = "subtract",
    }
}

choice! {
    /// Whether a potential that equals the threshold causes a spike.
    Fires, "the comparison with the threshold" {
        /// No: v > v_threshold, as NIR defines it; snnTorch, Norse.
        #[default]
        Above = "gt",
        /// Yes: v ≥ v_threshold; SpikingJelly, sinabs, Rockpool.
        AtLeast = "ge",
    }
}

choice! {
    /// Where the delay of one step is in a cycle.
    FeedbackFrom, "the start of feedback" {
        /// At the output of the neuron: nodes on the way back compute with its output of the step before. A bias on
        /// the way back acts in the first step.
        #[default]
        Source = "source",
        /// At the edge that closes the cycle: its last value is kept, 0 before the first step. A bias on the way back
        /// acts from the second step on; NIRTorch, Norse, SpikingJelly.
        Edge = "edge",
    }
}

choice! {
    /// The potential before the first step. Currents start at 0.
    VStart, "the potential before the first step" {
        /// 0.
        #[default]
        Zero = "zero",
        /// v_leak, or 0 for neurons without.
        Leak = "leak",
        /// v_reset, or 0 for neurons without.
        Reset = "reset",
        /// Half the threshold, or 0 for neurons without: neurons of converted networks, which round.
        HalfThreshold = "half-threshold",
    }
}
