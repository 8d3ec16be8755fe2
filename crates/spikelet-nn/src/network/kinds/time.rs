//! `"time-mean"`, `"time-last"`, `"time-sum"`, `"time-max"`, `"softmax-sum"`

use super::{Kind, MainValue};
use crate::layer::{SoftmaxSum, TimeLast, TimeMax, TimeMean, TimeSum};

pub(super) const TIME_MEAN: Kind = Kind {
    name: "time-mean",
    types: &["TimeMean"],
    summary: "the mean over time: of spikes, the firing rate",
    main: MainValue::None,
    keys: &[],
    example: (&[8], r#""time-mean""#),
    build: |_, b| b.leaf("time-mean", TimeMean, Some(0), |_| Some(0)),
};

pub(super) const TIME_LAST: Kind = Kind {
    name: "time-last",
    types: &["TimeLast"],
    summary: "the last time step",
    main: MainValue::None,
    keys: &[],
    example: (&[8], r#""time-last""#),
    build: |_, b| b.leaf("time-last", TimeLast, Some(0), |_| Some(0)),
};

pub(super) const TIME_SUM: Kind = Kind {
    name: "time-sum",
    types: &["TimeSum"],
    summary: "the sum over time: of spikes, the spike count",
    main: MainValue::None,
    keys: &[],
    example: (&[8], r#""time-sum""#),
    build: |_, b| b.leaf("time-sum", TimeSum, Some(0), |_| Some(0)),
};

pub(super) const TIME_MAX: Kind = Kind {
    name: "time-max",
    types: &["TimeMax"],
    summary: "the maximum over time",
    main: MainValue::None,
    keys: &[],
    example: (&[8], r#""time-max""#),
    build: |_, b| b.leaf("time-max", TimeMax, Some(0), |_| Some(0)),
};

pub(super) const SOFTMAX_SUM: Kind = Kind {
    name: "softmax-sum",
    types: &["SoftmaxSum"],
    summary: "the sum over time of the softmax over the classes",
    main: MainValue::None,
    keys: &[],
    example: (&[8], r#""softmax-sum""#),
    build: |_, b| b.leaf("softmax-sum", SoftmaxSum, Some(0), |_| Some(0)),
};
