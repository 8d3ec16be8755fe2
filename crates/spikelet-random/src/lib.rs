//! Counter-based random numbers: the same draws on every device and for every thread count.
//!
//! A draw is a function of *where* it is used, not of how many draws came before it. The place is
//! a counter of four words, the seed is the key, and Philox 4x32-10 turns the two into four
//! random words ([`philox4x32_10`]). Nothing is carried along, so threads, devices and restarts
//! from a checkpoint need not agree on anything but the layout of the counter.
//!
//! # The contract
//!
//! For element `e` of a tensor, at time step `t`, drawn by the place `id` of a network in training
//! step `step` under `seed`:
//!
//! | word | counter | key |
//! |---|---|---|
//! | 0 | `e / 4` (its low 32 bits) | low half of `seed` |
//! | 1 | `t` | high half of `seed` |
//! | 2 | `id` | |
//! | 3 | `step` | |
//!
//! The element's word `b` is output number `e % 4`. From words come
//!
//! * **uniform** numbers u = ((b >> 8) + 1) · 2⁻²⁴ in (0, 1], see [`unit()`];
//! * **Bernoulli** draws: 1 where u ≤ p, so p = 0 never fires and p = 1 always does;
//! * **normal** numbers by Box and Muller from outputs (0, 1) and (2, 3), see [`normal_pair`]:
//!   the even element takes the cosine, the odd one the sine.
//!
//! Every device follows this table. On the CPU, [`Stream`] fills slices by it with SIMD code,
//! [`ActiveGroups`] skips pixels that never fire, and [`Generator`] walks along one stream for
//! shuffles and initial values; [`cuda`] has the table as text for NVIDIA GPUs.
//!
//! ```
//! use spikelet_random::Stream;
//!
//! let stream = Stream { seed: 1, id: 7, step: 0 };
//! let mut whole = [0.0; 100];
//! stream.fill_uniform(3, 0, &mut whole);
//!
//! let mut part = [0.0; 40];
//! stream.fill_uniform(3, 60, &mut part);
//! assert_eq!(whole[60..], part);
//! assert_eq!(whole[61], stream.uniform(3, 61));
//! ```

mod active;
mod batch;
pub mod cuda;
mod distribution;
mod error;
mod generator;
mod philox;
mod stream;

pub use active::ActiveGroups;
pub use distribution::{normal_pair, unit};
pub use error::RandomError;
pub use generator::Generator;
pub use philox::philox4x32_10;
pub use stream::Stream;
