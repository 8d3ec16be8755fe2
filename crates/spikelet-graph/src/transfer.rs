//! What devices hand each other.

use crate::error::Result;
use crate::tensor::Tensor;
use std::any::Any;
use std::borrow::Cow;
use std::time::Instant;

/// A point in the order of a device's work.
pub trait Event: Send + Sync {
    /// Waits until it is reached.
    ///
    /// # Errors
    /// When the device fails.
    fn wait(&self) -> Result<()>;

    /// Seconds from an earlier moment of the same device to this one; waits for both.
    ///
    /// # Errors
    /// When the device fails, or the other moment is of another device.
    fn seconds_since(&self, earlier: &dyn Event) -> Result<f64>;

    /// What the device knows it by.
    fn as_any(&self) -> &dyn Any;
}

/// A moment of a device whose work is done when it is started.
#[derive(Clone, Copy, Debug)]
pub struct ReadyEvent(Instant);

impl ReadyEvent {
    /// The present moment.
    pub fn now() -> Self {
        Self(Instant::now())
    }
}

impl Event for ReadyEvent {
    fn wait(&self) -> Result<()> {
        Ok(())
    }

    fn seconds_since(&self, earlier: &dyn Event) -> Result<f64> {
        let earlier = earlier.as_any().downcast_ref::<Self>();
        let earlier = earlier.ok_or_else(|| crate::Error::Backend {
            backend: "cpu".to_string(),
            problem: "mean_var of two devices cannot be compared; ask for both on one".to_string(),
        })?;
        Ok((self.0 - earlier.0).as_secs_f64())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A tensor on its way from one device to another.
pub trait DeviceTransfer: Send + Sync {
    /// The tensor on the host.
    ///
    /// # Errors
    /// When the sender fails.
    fn on_host(&self) -> Result<Cow<'_, Tensor>>;

    /// What the sending device knows it by.
    fn as_any(&self) -> &dyn Any;
}

/// A tensor that goes through the host.
#[derive(Clone, Debug)]
pub struct OnHost(pub Tensor);

impl DeviceTransfer for OnHost {
    fn on_host(&self) -> Result<Cow<'_, Tensor>> {
        Ok(Cow::Borrowed(&self.0))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
