//! Entry points of the fuzz targets: the bytes that a client sends to rank 0.

use super::handshake::{Handshake, Progress, Purpose, client_proof};
use super::rendezvous::{MAX_HELLO_BYTES, is_hello};
use super::secret::BYTES;
use super::wire::MAGIC;

const KEY: &[u8] = b"the secret of a fuzz target";

const NONCE: [u8; BYTES] = [1; BYTES];

/// A handshake that is accepted, to be mutated.
pub fn valid_handshake() -> Vec<u8> {
    let client = [2; BYTES];
    let proof = client_proof(KEY, Purpose::Rendezvous, &NONCE, &client);
    let hello = br#"{"rank":1,"size":2,"host":"node","port":5,"fingerprint":{"seed":"1"}}"#;
    let length = (hello.len() as u32).to_le_bytes();
    [&MAGIC[..], &client, &proof, &length, hello].concat()
}

/// Processes bytes as rank 0 does. Returns whether they are a Hello with a valid proof.
///
/// # Panics
/// When the handshake stores more bytes than it may.
pub fn handshake(mut bytes: &[u8]) -> bool {
    let mut handshake = Handshake::new(Purpose::Rendezvous, NONCE, MAX_HELLO_BYTES);
    loop {
        let wanted = handshake.wanted();
        assert!(wanted > 0, "an incomplete handshake reads no more bytes");
        let Some((read, rest)) = bytes.split_at_checked(wanted.min(bytes.len()).max(1)) else {
            return false;
        };
        bytes = rest;
        match handshake.take(read, KEY) {
            Progress::Incomplete | Progress::Authenticated(_) => {}
            Progress::Message(message) => return is_hello(&message),
            Progress::WrongKey | Progress::Invalid => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_valid_handshake_is_accepted() {
        let valid = valid_handshake();
        assert!(handshake(&valid));
        for at in 0..MAGIC.len() + 2 * BYTES {
            let mut other = valid.clone();
            other[at] ^= 1;
            assert!(!handshake(&other), "byte {at}");
            assert!(!handshake(&valid[..at]), "length {at}");
        }
    }
}
