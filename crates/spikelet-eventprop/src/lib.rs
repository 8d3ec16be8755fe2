//! EventProp: exact gradients of spiking neural networks, from spike to spike.
//!
//! LIF neurons with exponential synapses are simulated event by event, in f64, with the exact times of their spikes.
//! A second pass, backward in time and from spike to spike, gives the gradient of a loss with respect to all
//! weights. There is no time step and no surrogate: the gradient is that of the network, wherever no spike appears or
//! vanishes. Memory grows with the number of spikes, not with time.
//!
//! ```
//! use spikelet_eventprop::{Adam, FirstSpikeLoss, LifLayer, Network, Rules, SpikeTrain, TimeConstants, Weights};
//!
//! // Two inputs in two orders; two output neurons, the first to fire is the class.
//! let samples = [SpikeTrain::new([(1.0, 0), (6.0, 1)]), SpikeTrain::new([(1.0, 1), (6.0, 0)])];
//! let tau = TimeConstants { tau_m: 20.0, tau_s: 5.0 };
//! let hidden = Weights::from_fn(3, 2, |to, from| 6.0 + ((to + from) % 3) as f64);
//! let hidden = LifLayer::new(tau, 1.0, hidden)?;
//! let output = LifLayer::new(tau, 1.0, Weights::from_fn(2, 3, |to, from| 4.0 + 0.3 * ((to * from) as f64)))?;
//! let mut network = Network::new(30.0, vec![hidden, output])?;
//! let loss = FirstSpikeLoss::new([0, 1], 2.0)?;
//! let mut adam = Adam::new();
//! let mut losses = vec![];
//! for _ in 0..100 {
//!     let traces = network.forward(&samples)?;
//!     let gradients = network.gradient(&samples, &traces, &loss, &Rules::default())?;
//!     adam.step(&mut network, &gradients, 0.05, 0.0)?;
//!     losses.push(gradients.loss);
//! }
//! assert!(losses[99] < 0.5 * losses[0]);
//! # Ok::<(), spikelet_eventprop::Error>(())
//! ```
//!
//! Source: Wunderlich and Pehle, Event-based backpropagation can compute exact gradients for spiking neural networks,
//! Scientific Reports 11, 2021, doi:10.1038/s41598-021-91786-z.

mod adam;
mod batch;
mod crossing;
mod error;
mod gradient;
mod layer;
mod loss;
mod membrane;
mod network;
mod readout;
mod rules;
mod spikes;
mod trace;
mod weights;

pub use adam::Adam;
pub use error::{Error, Result};
pub use gradient::{Gradients, LayerGradient};
pub use layer::LifLayer;
pub use loss::{CrossEntropy, FirstSpikeLoss, Loss, MeanSquare, OutputKind};
pub use membrane::TimeConstants;
pub use network::Network;
pub use readout::{Functional, Readout};
pub use rules::{Activity, CountPenalty, PhantomSpike, Rules, SilentPush};
pub use spikes::{Spike, SpikeTrain};
pub use trace::Trace;
pub use weights::Weights;
