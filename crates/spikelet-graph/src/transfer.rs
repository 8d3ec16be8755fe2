//! Events of devices, and transfers between devices.

use crate::error::Result;
use crate::tensor::Tensor;
use std::any::Any;
use std::borrow::Cow;
use std::time::Instant;

/// A point in the order of a device's work, as a CUDA event.
pub trait Event: Send + Sync {
    /// Waits until it is reached.
    ///
    /// # Errors
    /// When the device fails.
    fn wait(&self) -> Result<()>;

    /// Seconds from an earlier event of the same device to this one; waits for both.
    ///
    /// # Errors
    /// When the device fails, or the other event is of another device.
    fn seconds_since(&self, earlier: &dyn Event) -> Result<f64>;

    /// The device's own type, for downcasting.
    fn as_any(&self) -> &dyn Any;
}

/// An event of a device whose work has finished when a call returns.
#[derive(Clone, Copy, Debug)]
pub struct ReadyEvent(Instant);

impl ReadyEvent {
    /// An event at the present time.
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
            problem: "events of two devices cannot be compared; record both on the same device"
                .to_string(),
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

    /// The sending device's own type, for downcasting.
    fn as_any(&self) -> &dyn Any;
}

/// A transfer through host memory.
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
