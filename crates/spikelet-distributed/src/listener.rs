//! A listening socket for ranks of one host.

use super::address::Address;
use super::error::RendezvousError;
use spikelet_core::Result;
use std::net::TcpListener;

impl Address {
    /// Opens a listening socket at a free port of the loopback address: pass it on with
    /// [`RankGroup::connect_with_listener`](super::RankGroup::connect_with_listener), so that no other
    /// process can take the port.
    ///
    /// # Errors
    /// [`RendezvousError::System`] when no port can be opened.
    pub fn listen_on_loopback() -> Result<(TcpListener, Self)> {
        let open = || {
            let listener = TcpListener::bind(("127.0.0.1", 0))?;
            let address = listener.local_addr()?;
            Ok((
                listener,
                Self {
                    host: address.ip().to_string(),
                    port: address.port(),
                },
            ))
        };
        open().map_err(|source| RendezvousError::System { source }.into())
    }
}
