//! Where the events of a stream come from.

use crate::failure::Failure;
use spikelet::Error;
use spikelet_events::{EventReader, Options, open};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;

/// A file, standard input, or a TCP connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A file.
    File(PathBuf),
    /// Standard input.
    Standard,
    /// A server, to which a connection is made.
    Connect(String),
    /// An address at which one connection is accepted.
    Listen(String),
}

impl Input {
    /// Reads `-`, `tcp://HOST:PORT`, `tcp-listen://HOST:PORT`, or a path.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text == "-" {
            return Ok(Self::Standard);
        }
        if let Some(address) = text.strip_prefix("tcp://") {
            return Ok(Self::Connect(address.to_string()));
        }
        if let Some(address) = text.strip_prefix("tcp-listen://") {
            return Ok(Self::Listen(address.to_string()));
        }
        if text.contains("://") {
            return Err("write a path, -, tcp://HOST:PORT or tcp-listen://HOST:PORT".to_string());
        }
        Ok(Self::File(PathBuf::from(text)))
    }

    /// Opens it. A listener waits for a connection; `listening` is called with its address before.
    pub fn open(
        &self,
        options: &Options,
        listening: impl FnOnce(String),
    ) -> Result<EventReader, Failure> {
        let socket = |error: std::io::Error, address: &str| {
            Failure::other(
                format!("{address}: {error}"),
                "check host and port, and that the other side is running",
            )
        };
        let reader = match self {
            Self::File(path) => open(path, options),
            Self::Standard => EventReader::from_stream(std::io::stdin(), options),
            Self::Connect(address) => {
                let stream = TcpStream::connect(address).map_err(|e| socket(e, address))?;
                EventReader::from_stream(stream, options)
            }
            Self::Listen(address) => {
                let listener = TcpListener::bind(address).map_err(|e| socket(e, address))?;
                let own = listener.local_addr().map_err(Error::other)?;
                listening(own.to_string());
                let (stream, _) = listener.accept().map_err(|e| socket(e, address))?;
                EventReader::from_stream(stream, options)
            }
        };
        Ok(reader?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_read_by_their_form() {
        assert_eq!(Input::parse("-"), Ok(Input::Standard));
        assert_eq!(Input::parse("a.raw"), Ok(Input::File("a.raw".into())));
        let connect = Input::Connect("localhost:9".to_string());
        assert_eq!(Input::parse("tcp://localhost:9"), Ok(connect));
        let listen = Input::Listen("127.0.0.1:0".to_string());
        assert_eq!(Input::parse("tcp-listen://127.0.0.1:0"), Ok(listen));
        assert!(Input::parse("udp://localhost:9").is_err());
    }
}
