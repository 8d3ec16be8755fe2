//! A handshake in which both ends of a connection prove that they have the same key, without sending
//! it.
//!
//! ```text
//! client                                     server
//!   │◀───────── magic, server's nonce ─────────│
//!   │─ magic, client's nonce, client's proof ─▶│   proof: HMAC-SHA256(key, purpose, side, both nonces)
//!   │◀──────────── server's proof ─────────────│   zeros to a client whose proof is wrong
//!   │──────────── its first message ──────────▶│
//! ```
//!
//! Each connection has new nonces, so a recorded proof is invalid on another one. Until a client has
//! proved the key, the server stores at most [`UNAUTHENTICATED_BYTES`] of it and sends no information
//! about the run.

use super::secret::{BYTES, random};
use super::wire::{self, MAGIC};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::io::{self, ErrorKind, Write};
use std::net::TcpStream;
use std::time::Instant;

pub(super) type Proof = [u8; BYTES];

/// The number of bytes that a client sends before its proof is checked.
const UNAUTHENTICATED_BYTES: usize = MAGIC.len() + 2 * BYTES;

/// The answer to a client with a wrong proof.
pub(super) const REFUSED: Proof = [0; BYTES];

/// The largest number of bytes that are read in one call.
pub(super) const READ_BYTES: usize = 1 << 14;

/// The purpose of a connection. A proof for one purpose is invalid for another.
#[derive(Clone, Copy)]
pub(super) enum Purpose {
    /// From a rank to rank 0.
    Rendezvous,
    /// From a rank to the next one in the ring.
    Ring,
}

#[derive(Clone, Copy)]
enum Side {
    Client,
    Server,
}

fn mac(key: &[u8], purpose: Purpose, side: Side, server: &Proof, client: &Proof) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(match purpose {
        Purpose::Rendezvous => b"spikelet rendezvous\0",
        Purpose::Ring => b"spikelet ring\0",
    });
    mac.update(match side {
        Side::Client => b"client\0",
        Side::Server => b"server\0",
    });
    mac.update(server);
    mac.update(client);
    mac
}

/// A client's proof that it has the key.
pub(super) fn client_proof(key: &[u8], purpose: Purpose, server: &Proof, client: &Proof) -> Proof {
    let proof = mac(key, purpose, Side::Client, server, client);
    proof.finalize().into_bytes().into()
}

/// The state of the server's side of one handshake, without the connection.
pub(super) struct Handshake {
    purpose: Purpose,
    nonce: Proof,
    /// The received bytes of an incomplete proof or message.
    received: Vec<u8>,
    /// Whether the client has proved the key.
    authenticated: bool,
    /// The maximal length of the message.
    max_bytes: usize,
}

/// The result of the received bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// More bytes are needed.
    Incomplete,
    /// The client has the key. This proof is sent to it, and its message follows.
    Authenticated(Proof),
    /// The message of a client that has the key.
    Message(Vec<u8>),
    /// The client does not have the key.
    WrongKey,
    /// The bytes do not follow the protocol.
    Invalid,
}

impl Handshake {
    pub(super) fn new(purpose: Purpose, nonce: Proof, max_bytes: usize) -> Self {
        Self {
            purpose,
            nonce,
            received: vec![],
            authenticated: false,
            max_bytes,
        }
    }

    /// Whether the client has proved the key.
    pub(super) fn is_authenticated(&self) -> bool {
        self.authenticated
    }

    /// The first bytes that the server sends.
    pub(super) fn opening(&self) -> Vec<u8> {
        [&MAGIC[..], &self.nonce].concat()
    }

    /// The length of the message, once it is received.
    fn message_length(&self) -> Option<usize> {
        let length = self.received.first_chunk().copied();
        length.map(|length| u32::from_le_bytes(length) as usize)
    }

    /// The number of bytes to read next: never more than belong to the handshake.
    pub(super) fn wanted(&self) -> usize {
        let all = match (self.authenticated, self.message_length()) {
            (false, _) => UNAUTHENTICATED_BYTES,
            (true, None) => 4,
            (true, Some(length)) => 4 + length,
        };
        (all - self.received.len()).min(READ_BYTES)
    }

    /// Processes received bytes, at most as many as [`Handshake::wanted`].
    pub(super) fn take(&mut self, bytes: &[u8], key: &[u8]) -> Progress {
        self.received.extend_from_slice(bytes);
        if self.authenticated {
            self.check_message()
        } else {
            self.check_proof(key)
        }
    }

    fn check_proof(&mut self, key: &[u8]) -> Progress {
        let known = self.received.len().min(MAGIC.len());
        if self.received[..known] != MAGIC[..known] {
            return Progress::Invalid;
        }
        if self.received.len() < UNAUTHENTICATED_BYTES {
            return Progress::Incomplete;
        }
        let (nonce, proof) = self.received[MAGIC.len()..].split_at(BYTES);
        let client: Proof = nonce.try_into().expect("a nonce has as many bytes");
        let expected = mac(key, self.purpose, Side::Client, &self.nonce, &client);
        if expected.verify_slice(proof).is_err() {
            return Progress::WrongKey;
        }
        self.authenticated = true;
        self.received = vec![];
        let own = mac(key, self.purpose, Side::Server, &self.nonce, &client);
        Progress::Authenticated(own.finalize().into_bytes().into())
    }

    fn check_message(&mut self) -> Progress {
        match self.message_length() {
            Some(length) if length > self.max_bytes => Progress::Invalid,
            Some(length) if self.received.len() == 4 + length => {
                Progress::Message(self.received.split_off(4))
            }
            _ => Progress::Incomplete,
        }
    }
}

/// The failure of a client's handshake.
pub(super) enum HandshakeError {
    /// The connection failed. It may be retried.
    Io(io::Error),
    /// The server is another program, whose first bytes are these.
    NotSpikelet([u8; MAGIC.len()]),
    /// The server has a different key, or none.
    OtherKey,
}

impl From<io::Error> for HandshakeError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<HandshakeError> for io::Error {
    fn from(error: HandshakeError) -> Self {
        match error {
            HandshakeError::Io(e) => e,
            HandshakeError::NotSpikelet(_) | HandshakeError::OtherKey => Self::new(
                ErrorKind::InvalidData,
                "the server is not a rank of this run",
            ),
        }
    }
}

/// Performs the client's side of the handshake. Afterwards the server expects the client's message.
pub(super) fn client_handshake(
    mut stream: &TcpStream,
    key: &[u8],
    purpose: Purpose,
    deadline: Instant,
) -> Result<(), HandshakeError> {
    stream.set_nodelay(true)?;
    let mut magic = [0; MAGIC.len()];
    wire::read_exact(stream, &mut magic, deadline)?;
    if magic != MAGIC {
        return Err(HandshakeError::NotSpikelet(magic));
    }
    let mut server = [0; BYTES];
    wire::read_exact(stream, &mut server, deadline)?;
    let client = random().map_err(io::Error::other)?;
    let proof = client_proof(key, purpose, &server, &client);
    stream.set_write_timeout(Some(wire::until(deadline)))?;
    stream.write_all(&[&MAGIC[..], &client, &proof].concat())?;
    let mut answer = [0; BYTES];
    wire::read_exact(stream, &mut answer, deadline)?;
    let expected = mac(key, purpose, Side::Server, &server, &client);
    expected
        .verify_slice(&answer)
        .map_err(|_| HandshakeError::OtherKey)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &[u8] = b"a key of a test";

    #[test]
    fn an_unauthenticated_handshake_stores_a_bounded_number_of_bytes() {
        let mut handshake = Handshake::new(Purpose::Ring, [1; BYTES], 16);
        assert_eq!(handshake.wanted(), UNAUTHENTICATED_BYTES);
        assert_eq!(handshake.take(&MAGIC, KEY), Progress::Incomplete);
        assert_eq!(handshake.wanted(), 2 * BYTES);
        assert_eq!(handshake.take(&[0; 2 * BYTES], KEY), Progress::WrongKey);
        let mut handshake = Handshake::new(Purpose::Ring, [1; BYTES], 16);
        assert_eq!(handshake.take(b"s", KEY), Progress::Incomplete);
        assert_eq!(handshake.take(b"t", KEY), Progress::Invalid);
    }
}
