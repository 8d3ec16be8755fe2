//! Counter-based random numbers: the same draws on every device and for every thread count.
//!
//! A draw is a function of *where* it is used, not of the number of draws before it. Four words that
//! name this place are the counter, the seed is the key, and Philox 4x32-10 ([`philox4x32_10`])
//! computes four random words from both. There is no state, so the result does not depend on the
//! number of threads, on the device, or on restarts from a checkpoint.
//!
//! # The contract
//!
//! The counter and key of element `e` of a tensor at time step `t`, for the draw number `id` of a
//! network (an encoder, a dropout layer) in training step `step`:
//!
//! | word | counter | key |
//! |---|---|---|
//! | 0 | `e / 4` (its low 32 bits) | low half of `seed` |
//! | 1 | `t` | high half of `seed` |
//! | 2 | `id` | |
//! | 3 | `step` | |
//!
//! The element's word `b` is output number `e % 4`. Random numbers are computed from it:
//!
//! * **uniform** numbers u = ((b >> 8) + 1) · 2⁻²⁴ in (0, 1], see [`unit()`];
//! * **Bernoulli** draws: 1 where u ≤ p, so p = 0 never gives 1 and p = 1 always does;
//! * **normal** numbers by Box and Muller from outputs (0, 1) and (2, 3), see [`normal_pair`]:
//!   the even element takes the cosine, the odd one the sine.
//!
//! All devices implement this contract. On the CPU, [`Stream`] fills slices with SIMD code,
//! [`ActiveGroups`] skips pixels of probability zero, and [`Generator`] yields one number after
//! another for shuffles and initial values; [`cuda`] is the text for NVIDIA GPUs.
//!
//! ```
//! use spikelet_random::Stream;
//!
//! let stream = Stream { seed: 1, id: 7, step: 0 };
//! let mut all = [0.0; 100];
//! stream.fill_uniform(3, 0, &mut all);
//!
//! let mut part = [0.0; 40];
//! stream.fill_uniform(3, 60, &mut part);
//! assert_eq!(all[60..], part);
//! assert_eq!(all[61], stream.uniform(3, 61));
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
