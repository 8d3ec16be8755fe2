//! The secret by which the ranks of a run know each other.

use super::world::Address;
use spikelet_core::{Error, Result};
use std::fmt::{self, Debug};
use std::io::Read;
use std::net::IpAddr;
use std::path::Path;
use std::str::FromStr;

/// The environment variable in which a launcher gives its ranks the secret.
pub(super) const VARIABLE: &str = "SPIKELET_RENDEZVOUS_SECRET";

/// Bytes of a secret: fewer can be guessed.
const SHORTEST: usize = 16;
/// More are no secret but another file.
const LONGEST: usize = 4096;

/// Bytes of a nonce, a proof, and a secret that was drawn.
pub(super) const BYTES: usize = 32;

/// A secret that all ranks of a run have and nobody else: each rank proves to rank 0 that it has it,
/// and rank 0 proves it to each rank, without sending it. White space around it does not count.
///
/// ```
/// use spikelet::distributed::Secret;
/// let secret = Secret::generate()?;
/// assert_eq!(format!("{secret:?}"), "Secret(64 bytes)");
/// assert!("too short".parse::<Secret>().is_err());
/// # Ok::<(), spikelet::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl Secret {
    /// A new one of 256 random bits, as text.
    ///
    /// # Errors
    /// When the system gives no random bytes.
    pub fn generate() -> Result<Self> {
        let digits = random()?.map(|byte| format!("{byte:02x}"));
        Ok(Self(digits.concat().into_bytes()))
    }

    /// The secret in a file that only this user can read.
    ///
    /// # Errors
    /// When it cannot be read, is no regular file, others can read it, or it has fewer than 16 or more
    /// than 4096 bytes.
    pub fn read(path: &Path) -> Result<Self> {
        let wrong = |problem: String, help: &str| {
            Error::invalid(
                format!("the rendezvous secret in {}", path.display()),
                problem,
                help,
            )
        };
        let unreadable = |e: std::io::Error| wrong(e.to_string(), HOW_TO_MAKE);
        // Looked at before it is opened: opening a pipe waits for a writer.
        let found = std::fs::metadata(path).map_err(unreadable)?;
        if !found.is_file() {
            return Err(wrong("it is not a regular file".to_string(), HOW_TO_MAKE));
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = found.permissions().mode();
            if mode & 0o077 != 0 {
                return Err(wrong(
                    format!(
                        "its mode is {:03o}, so that others can use it",
                        mode & 0o777
                    ),
                    "take the rights of group and others away: chmod 600 FILE",
                ));
            }
        }
        let mut bytes = vec![];
        let file = std::fs::File::open(path).map_err(unreadable)?;
        let limit = LONGEST as u64 + 1;
        file.take(limit)
            .read_to_end(&mut bytes)
            .map_err(unreadable)?;
        Self::of_bytes(&bytes).map_err(|problem| wrong(problem, HOW_TO_MAKE))
    }

    fn of_bytes(bytes: &[u8]) -> std::result::Result<Self, String> {
        let bytes = bytes.trim_ascii();
        match bytes.len() {
            SHORTEST..=LONGEST => Ok(Self(bytes.to_vec())),
            0 => Err("it is empty".to_string()),
            n if n < SHORTEST => Err(format!("it has {n} bytes, fewer than {SHORTEST}")),
            _ => Err(format!("it has more than {LONGEST} bytes")),
        }
    }

    /// The key of proofs.
    pub(super) fn key(&self) -> &[u8] {
        &self.0
    }

    /// As [`VARIABLE`] has it.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }
}

const HOW_TO_MAKE: &str =
    "make one on one host and copy it to the others: (umask 077; openssl rand -hex 32 > FILE)";

impl FromStr for Secret {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::of_bytes(text.as_bytes())
            .map_err(|problem| Error::invalid("the rendezvous secret", problem, HOW_TO_MAKE))
    }
}

/// Never the secret itself.
impl Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({} bytes)", self.0.len())
    }
}

/// Random bytes of the operating system.
pub(super) fn random() -> Result<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(|e| {
        Error::invalid(
            "rendezvous",
            format!("the system gives no random bytes: {e}"),
            "see that /dev/urandom is there",
        )
    })?;
    Ok(bytes)
}

/// Whether only processes of its own host reach rank 0 at this address. A host's own name does not
/// count, though on the host itself it often leads to a loopback address: rank 0 then listens at all
/// addresses.
pub(super) fn is_loopback(address: &Address) -> bool {
    let given = address.host.parse::<IpAddr>();
    given.is_ok_and(|ip| ip.is_loopback()) || address.host == "localhost"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_without_the_white_space_around_it() -> Result<()> {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), "0123456789abcdef0123\n").expect("written");
        assert_eq!(Secret::read(file.path())?.key(), b"0123456789abcdef0123");
        assert_ne!(Secret::generate()?, Secret::generate()?);
        let drawn = Secret::generate()?;
        assert_eq!(drawn.text().parse::<Secret>()?, drawn);
        Ok(())
    }

    #[test]
    fn files_that_hold_no_secret_are_refused() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let said = |text: &str| {
            std::fs::write(file.path(), text).expect("written");
            Secret::read(file.path()).expect_err("refused").to_string()
        };
        assert!(said(" \n").contains("it is empty"));
        assert!(said("short").contains("it has 5 bytes, fewer than 16"));
        assert!(said(&"x".repeat(5000)).contains("more than 4096 bytes"));
        let folder = Secret::read(Path::new("/")).expect_err("refused");
        assert!(
            folder.to_string().contains("not a regular file"),
            "{folder}"
        );
    }

    #[test]
    #[cfg(unix)]
    fn a_secret_that_others_can_read_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), "0123456789abcdef0123").expect("written");
        let open = std::fs::Permissions::from_mode(0o644);
        std::fs::set_permissions(file.path(), open).expect("changed");
        let error = Secret::read(file.path()).expect_err("refused").to_string();
        assert!(error.contains("its mode is 644"), "{error}");
    }

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
            assert_eq!(is_loopback(&address.parse()?), expected, "{address}");
        }
        Ok(())
    }
}
