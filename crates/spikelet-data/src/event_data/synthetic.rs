//! Generated event data sets, which need no files.

/// A generated data set by its name.
#[derive(Debug)]
pub struct SyntheticEvents {
    /// The name, as on the command line.
    pub(super) name: &'static str,
    /// A description in one line.
    pub(super) summary: &'static str,
    /// The set, as text of a [`SyntheticSet`](spikelet_events::synthetic::SyntheticSet).
    pub(super) set: &'static str,
    /// The usual frames.
    pub(super) frames: &'static str,
}

/// All generated data sets. A new one is an entry here.
pub(super) const ALL: &[SyntheticEvents] = &[
    SyntheticEvents {
        name: "synthetic-gestures",
        summary: "Generated: an event camera of 128 × 128 pixels sees ten gestures",
        set: "synthetic-gestures train=3000 test=500",
        frames: "number=16",
    },
    SyntheticEvents {
        name: "synthetic-gestures-34",
        summary: "Generated: an event camera of 34 × 34 pixels sees ten gestures",
        set: "synthetic-gestures size=34 train=4000 test=500",
        frames: "number=16",
    },
    SyntheticEvents {
        name: "synthetic-moving-digits",
        summary: "Generated: an event camera of 34 × 34 pixels moves before digits",
        set: "synthetic-moving-digits",
        frames: "number=10",
    },
    SyntheticEvents {
        name: "synthetic-spoken-digits",
        summary: "Generated: a cochlea of 700 channels hears ten words, forwards and backwards",
        set: "synthetic-spoken-digits",
        frames: "sound",
    },
];
