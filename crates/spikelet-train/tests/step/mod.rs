//! Training steps of one's own: groups, frozen parameters, accumulation, averages, files, shared weights,
//! penalties.

mod carried;
mod definition;
mod every_kind;
mod files;
mod learning;
mod penalties;
mod reference;
mod shared;
mod support;
