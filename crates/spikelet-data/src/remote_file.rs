//! A file on a mirror.

use sha2::{Digest, Sha256};

/// The name, length and checksum of a file.
///
/// Those of a file of [`Files::Idx`](crate::Files::Idx) are of the uncompressed content; those of the archive of
/// [`RecordFiles`](crate::RecordFiles) are of the file on the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteFile {
    /// The name of the file, without a folder. Except for archives, `.gz` is appended for downloads.
    pub name: String,
    /// Length of the content, in bytes.
    pub bytes: u64,
    /// SHA-256 of the content, in lower-case hexadecimal.
    pub sha256: String,
}

/// SHA-256 of `bytes` in lower-case hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// `bytes` in lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
