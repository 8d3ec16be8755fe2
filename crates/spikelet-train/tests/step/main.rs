//! Training steps of one's own: groups, frozen parameters, accumulation, averages, files, shared weights.

mod carried;
mod definition;
mod files;
mod reference;
mod shared;
mod support;
