//! Messages on a connection: the length, then JSON. Text from the network is escaped before it is shown.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// The first bytes that both ends of a connection send. The digit is the version of the protocol.
pub(super) const MAGIC: [u8; 8] = *b"spkrank3";

fn invalid_data(problem: impl ToString) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, problem.to_string())
}

/// Sends a message.
pub(super) fn send(mut stream: &TcpStream, message: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_vec(message).map_err(invalid_data)?;
    let length = u32::try_from(text.len()).map_err(invalid_data)?;
    let mut frame = Vec::with_capacity(4 + text.len());
    frame.extend(length.to_le_bytes());
    frame.extend(text);
    stream.write_all(&frame)
}

/// Receives a message of at most `max_bytes` bytes. Memory is allocated as they arrive.
pub(super) fn receive<T: DeserializeOwned>(
    mut stream: &TcpStream,
    max_bytes: usize,
) -> io::Result<T> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > max_bytes {
        return Err(invalid_data(format!("a message of {length} bytes")));
    }
    let mut text = vec![];
    stream.take(length as u64).read_to_end(&mut text)?;
    if text.len() < length {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    serde_json::from_slice(&text).map_err(invalid_data)
}

/// Fills the buffer before the deadline, even if the bytes arrive one at a time.
pub(super) fn read_exact(
    mut stream: &TcpStream,
    mut buffer: &mut [u8],
    deadline: Instant,
) -> io::Result<()> {
    while !buffer.is_empty() {
        if Instant::now() >= deadline {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(until(deadline)))?;
        match stream.read(buffer) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(read) => buffer = &mut buffer[read..],
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// The time until `deadline`. Never zero, which sockets interpret as no limit.
pub(super) fn until(deadline: Instant) -> Duration {
    let left = deadline.saturating_duration_since(Instant::now());
    left.max(Duration::from_millis(1))
}

/// Whether a read or write has timed out: systems use either of two kinds of error.
pub(super) fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// A line from the network that is safe to print on a terminal: control characters and other invisible
/// ones are escaped as in Rust, quotes are kept.
pub(super) fn printable(text: &str) -> String {
    let escaped = |c: char| match c {
        '"' | '\'' | '\\' => c.to_string(),
        c => c.escape_debug().to_string(),
    };
    text.chars().map(escaped).collect()
}

/// As [`printable`], of several lines.
pub(super) fn printable_lines(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(printable).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_are_not_sent_to_a_terminal() {
        let host = "node\x1b]0;owned\x07\r\u{202e}'1\"\n";
        let shown = printable(host);
        assert_eq!(shown, r#"node\u{1b}]0;owned\u{7}\r\u{202e}'1"\n"#);
        assert!(!shown.contains(char::is_control));
        assert_eq!(printable_lines("a\x1b\n  help: b"), "a\\u{1b}\n  help: b");
    }
}
