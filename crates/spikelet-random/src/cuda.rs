//! The draws as CUDA C++ text.
//!
//! [`PHILOX`] defines the random function, uniform numbers and Bernoulli draws, and has no
//! dependencies; [`NORMAL`] defines normal numbers and follows it and the [`library`] of
//! [`NORMAL_FUNCTIONS`]. Compiled with the options of [`spikelet_expr::cuda`], the numbers have the
//! bits of [`Stream`](crate::Stream).
//!
//! | in C++ | in Rust |
//! |---|---|
//! | `spk_stream { key0, key1, id, step }` | [`Stream`](crate::Stream), the seed as its low and its high half |
//! | `uint4 spk_philox(c0, c1, c2, c3, k0, k1)` | [`philox4x32_10`](crate::philox4x32_10) |
//! | `uint4 spk_words(stream, time, group)` | the words of the elements starting at `4 * group` |
//! | `unsigned spk_word(stream, time, element)` | [`Stream::word`](crate::Stream::word) |
//! | `float spk_unit(word)` | [`unit`](crate::unit()) |
//! | `unsigned spk_threshold(p)` | `spk_unit(word) <= p` is `word >> 8 < spk_threshold(p)` |
//! | `float spk_uniform(stream, time, element)` | [`Stream::uniform`](crate::Stream::uniform) |
//! | `bool spk_bernoulli(stream, time, element, p)` | [`Stream::bernoulli`](crate::Stream::bernoulli) |
//! | `float2 spk_normal_pair(b0, b1)` | [`normal_pair`](crate::normal_pair) |
//! | `float spk_normal(stream, time, element)` | [`Stream::normal`](crate::Stream::normal) |
//!
//! ```
//! use spikelet_expr::cuda::library;
//! use spikelet_random::cuda::{NORMAL, NORMAL_FUNCTIONS, PHILOX};
//! let text = library(&NORMAL_FUNCTIONS.into()) + PHILOX + NORMAL;
//! assert!(text.contains("float spk_normal("));
//! ```
//!
//! [`library`]: spikelet_expr::cuda::library

use spikelet_expr::cuda::Function;

/// Words, uniform numbers and Bernoulli draws; see the [module](self).
pub const PHILOX: &str = include_str!("cuda/philox.cuh");

/// Normal numbers; see the [module](self).
pub const NORMAL: &str = include_str!("cuda/normal.cuh");

/// The functions that [`NORMAL`] calls.
pub const NORMAL_FUNCTIONS: [Function; 3] = [Function::Ln, Function::Sin2Pi, Function::Cos2Pi];
