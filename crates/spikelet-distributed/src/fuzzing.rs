//! For the fuzz targets: what a connection at the port of rank 0 does with bytes.

use super::handshake::{Greeting, Progress, Purpose, client_proof};
use super::rendezvous::{LONGEST_HELLO, is_hello};
use super::secret::BYTES;
use super::wire::MAGIC;

const KEY: &[u8] = b"the secret of a fuzz target";

const NONCE: [u8; BYTES] = [1; BYTES];

/// A greeting that is let in, to be mutated.
pub fn valid_greeting() -> Vec<u8> {
    let client = [2; BYTES];
    let proof = client_proof(KEY, Purpose::Rendezvous, &NONCE, &client);
    let hello = br#"{"rank":1,"size":2,"host":"node","port":5,"fingerprint":{"seed":"1"}}"#;
    let length = (hello.len() as u32).to_le_bytes();
    [&MAGIC[..], &client, &proof, &length, hello].concat()
}

/// Takes bytes as rank 0 takes them from a connection; whether they are a Hello with a proof.
///
/// # Panics
/// When more is kept than may be.
pub fn greeting(mut bytes: &[u8]) -> bool {
    let mut greeting = Greeting::new(Purpose::Rendezvous, NONCE, LONGEST_HELLO);
    loop {
        let wanted = greeting.wanted();
        assert!(wanted > 0, "a greeting that waits wants more");
        let Some((piece, rest)) = bytes.split_at_checked(wanted.min(bytes.len()).max(1)) else {
            return false;
        };
        bytes = rest;
        match greeting.take(piece, KEY) {
            Progress::Waits | Progress::Proved(_) => {}
            Progress::Said(said) => return is_hello(&said),
            Progress::WrongKey | Progress::Garbage => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_valid_greeting_is_let_in_and_no_other() {
        let valid = valid_greeting();
        assert!(greeting(&valid));
        for at in 0..MAGIC.len() + 2 * BYTES {
            let mut other = valid.clone();
            other[at] ^= 1;
            assert!(!greeting(&other), "byte {at}");
            assert!(!greeting(&valid[..at]), "length {at}");
        }
    }
}
