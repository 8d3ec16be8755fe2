//! The secret that authenticates the ranks of a run.

use super::error::RendezvousError;
use spikelet_core::{Error, Result};
use std::fmt::{self, Debug};
use std::io::Read;
use std::path::Path;
use std::str::FromStr;

/// The minimal length of a secret in bytes: shorter ones can be guessed.
const MIN_BYTES: usize = 16;
/// The maximal length: a longer file is not a secret.
const MAX_BYTES: usize = 4096;

/// The length of a nonce, a proof and a generated secret in bytes.
pub(super) const BYTES: usize = 32;

/// A secret shared by the ranks of a run. Each rank proves to rank 0 that it has the secret, and rank 0
/// to each rank, without sending it. It is text in UTF-8; leading and trailing white space is ignored.
///
/// ```
/// use spikelet_distributed::Secret;
/// let secret = Secret::generate()?;
/// assert_eq!(format!("{secret:?}"), "Secret(64 bytes)");
/// assert!("too short".parse::<Secret>().is_err());
/// # Ok::<(), spikelet_core::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// Bytes that are no secret.
#[derive(Debug, thiserror::Error)]
enum NoSecret {
    #[error("it is empty")]
    Empty,
    #[error("it has {bytes} bytes, fewer than {MIN_BYTES}")]
    TooShort { bytes: usize },
    #[error("it has more than {MAX_BYTES} bytes")]
    TooLong,
    // Launchers pass it to their ranks in the environment.
    #[error("it is not text: it has bytes that are not UTF-8, or zeros")]
    NotText,
}

impl Secret {
    /// A new secret of 256 random bits, as text.
    ///
    /// # Errors
    /// When the system returns no random bytes.
    pub fn generate() -> Result<Self> {
        let digits = random()?.map(|byte| format!("{byte:02x}"));
        Ok(Self(digits.concat()))
    }

    /// Reads the secret from a file that only its owner can read.
    ///
    /// # Errors
    /// When the file cannot be read, is not a regular file, can be read by other users, is not text, or has
    /// fewer than 16 or more than 4096 bytes.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let wrong = |problem: String, help: &str| {
            Error::invalid(
                format!("the rendezvous secret in {}", path.display()),
                problem,
                help,
            )
        };
        let unreadable = |e: std::io::Error| wrong(e.to_string(), HOW_TO_GENERATE);
        // Checked before the file is opened: opening a pipe blocks until a writer exists.
        let found = std::fs::metadata(path).map_err(unreadable)?;
        if !found.is_file() {
            return Err(wrong(
                "it is not a regular file".to_string(),
                HOW_TO_GENERATE,
            ));
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = found.permissions().mode();
            if mode & 0o077 != 0 {
                return Err(wrong(
                    format!(
                        "its mode is {:03o}: other users can access it",
                        mode & 0o777
                    ),
                    "remove the permissions of the group and others: chmod 600 FILE",
                ));
            }
        }
        let mut bytes = vec![];
        let file = std::fs::File::open(path).map_err(unreadable)?;
        let limit = MAX_BYTES as u64 + 1;
        file.take(limit)
            .read_to_end(&mut bytes)
            .map_err(unreadable)?;
        Self::from_bytes(&bytes).map_err(|e| wrong(e.to_string(), HOW_TO_GENERATE))
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, NoSecret> {
        let bytes = bytes.trim_ascii();
        match bytes.len() {
            MIN_BYTES..=MAX_BYTES => match str::from_utf8(bytes) {
                Ok(text) if !text.contains('\0') => Ok(Self(text.to_string())),
                _ => Err(NoSecret::NotText),
            },
            0 => Err(NoSecret::Empty),
            bytes if bytes < MIN_BYTES => Err(NoSecret::TooShort { bytes }),
            _ => Err(NoSecret::TooLong),
        }
    }

    /// The key of the proofs.
    pub(super) fn key(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// The value of [`SECRET`](super::variables::SECRET).
    pub(super) fn text(&self) -> &str {
        &self.0
    }
}

const HOW_TO_GENERATE: &str =
    "generate one on one host and copy it to the others: (umask 077; openssl rand -hex 32 > FILE)";

impl FromStr for Secret {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::from_bytes(text.as_bytes())
            .map_err(|e| Error::invalid("the rendezvous secret", e.to_string(), HOW_TO_GENERATE))
    }
}

/// Prints the length only.
impl Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({} bytes)", self.0.len())
    }
}

/// Random bytes of the operating system.
pub(super) fn random() -> Result<[u8; BYTES], RendezvousError> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(|e| RendezvousError::Random {
        message: e.to_string(),
    })?;
    Ok(bytes)
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
        let said = |bytes: &[u8]| {
            std::fs::write(file.path(), bytes).expect("written");
            Secret::read(file.path()).expect_err("refused").to_string()
        };
        assert!(said(b" \n").contains("it is empty"));
        assert!(said(b"short").contains("it has 5 bytes, fewer than 16"));
        assert!(said(&[b'x'; 5000]).contains("more than 4096 bytes"));
        // Ranks get the secret as text: another reading of the bytes would be another key.
        assert!(said(&[0xe9; 32]).contains("it is not text"));
        assert!(said(b"0123456789abcdef\x00123").contains("it is not text"));
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
}
