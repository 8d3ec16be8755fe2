//! The address of rank 0.

use super::world_error::WorldError;
use spikelet_core::{Error, Result};
use std::fmt::{self, Display};
use std::net::IpAddr;
use std::str::FromStr;

/// The address at which rank 0 listens.
///
/// ```
/// use spikelet_distributed::Address;
/// let address: Address = "node01:29500".parse()?;
/// assert_eq!((address.host.as_str(), address.port), ("node01", 29500));
/// assert_eq!("[fe80::1]:7000".parse::<Address>()?.host, "fe80::1");
/// assert!("node01".parse::<Address>().is_err());
/// assert!("[]:29500".parse::<Address>().is_err());
/// # Ok::<(), spikelet_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// A host name, or an IPv4 or IPv6 address.
    pub host: String,
    /// The port, at least 1.
    pub port: u16,
}

impl Address {
    /// Whether only processes of the same host can reach rank 0 at this address. The name of the host is
    /// not a loopback address, even if the host itself resolves it to one: rank 0 then listens at all
    /// addresses.
    pub(super) fn is_loopback(&self) -> bool {
        let given = self.host.parse::<IpAddr>();
        given.is_ok_and(|ip| ip.is_loopback()) || self.host == "localhost"
    }
}

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let invalid = || WorldError::Address {
            text: text.to_string(),
        };
        let (host, port) = text.rsplit_once(':').ok_or_else(invalid)?;
        let bracketed = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
        if host.is_empty() || host == "[]" || (bracketed.is_none() && host.contains(':')) {
            return Err(invalid().into());
        }
        match port.parse() {
            Ok(port) if port > 0 => Ok(Self {
                host: bracketed.unwrap_or(host).to_string(),
                port,
            }),
            _ => Err(invalid().into()),
        }
    }
}

impl Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_addresses_and_their_name_are_loopback() -> Result<()> {
        for (address, expected) in [
            ("127.0.0.1:5", true),
            ("127.3.0.1:5", true),
            ("[::1]:5", true),
            ("localhost:5", true),
            ("node01:5", false),
            ("10.0.0.1:5", false),
            ("localhost.example.org:5", false),
        ] {
            assert_eq!(
                address.parse::<Address>()?.is_loopback(),
                expected,
                "{address}"
            );
        }
        Ok(())
    }
}
