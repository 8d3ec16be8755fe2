//! Notes beside a node.

use std::sync::Arc;

/// What passes have decided or found about a node. Notes do not change what it computes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// The part of the device that a scan with feedback may fill.
    pub share: DeviceShare,
    /// Why the body of a loop is not one kernel; `None` if [`crate::pass::fuse_recurrent_scan`] did not look at it.
    pub unfused: Option<Arc<str>>,
}

/// The part of a device that a scan with feedback may fill: all of it, or half while another layer's scan runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum DeviceShare {
    /// Nothing else runs.
    #[default]
    Whole,
    /// The larger half.
    First,
    /// The rest.
    Second,
}
