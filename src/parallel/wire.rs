//! Messages on a connection: their length, then JSON.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// What both ends of every connection say first. The digit is the protocol's version.
pub(super) const MAGIC: [u8; 8] = *b"spkrank1";

/// No message is longer; a length above this comes from somebody else.
const LONGEST: usize = 16 << 20;

fn garbled(problem: impl ToString) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, problem.to_string())
}

/// Sends a message.
pub(super) fn send(mut stream: &TcpStream, message: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_vec(message).map_err(garbled)?;
    let mut frame = Vec::with_capacity(4 + text.len());
    frame.extend((text.len() as u32).to_le_bytes());
    frame.extend(text);
    stream.write_all(&frame)
}

/// Waits for a message.
pub(super) fn receive<T: DeserializeOwned>(mut stream: &TcpStream) -> io::Result<T> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > LONGEST {
        return Err(garbled("a message of impossible length"));
    }
    let mut text = vec![0; length];
    stream.read_exact(&mut text)?;
    serde_json::from_slice(&text).map_err(garbled)
}

/// What is left until `deadline`; never nothing, which sockets take for no limit.
pub(super) fn until(deadline: Instant) -> Duration {
    let left = deadline.saturating_duration_since(Instant::now());
    left.max(Duration::from_millis(1))
}

/// Whether a time limit has passed, by either of the names that systems have for it.
pub(super) fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}
