//! `"time-mean"`, `"time-last"`

use super::{Kind, MainValue};
use crate::layer::{TimeLast, TimeMean};

pub(super) const TIME_MEAN: Kind = Kind {
    name: "time-mean",
    summary: "the mean over time: of spikes, the firing rate",
    main: MainValue::None,
    keys: &[],
    build: |_, b| b.leaf("time-mean", TimeMean, Some(0), |_| Some(0)),
};

pub(super) const TIME_LAST: Kind = Kind {
    name: "time-last",
    summary: "the last time step",
    main: MainValue::None,
    keys: &[],
    build: |_, b| b.leaf("time-last", TimeLast, Some(0), |_| Some(0)),
};
