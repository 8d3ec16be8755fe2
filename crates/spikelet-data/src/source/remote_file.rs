//! A file on a mirror.

use sha2::{Digest, Sha256};

/// A file as it must be once it is here.
///
/// A file of [`Files::Idx`](crate::Files::Idx) is described uncompressed, the archive of
/// [`RecordFiles`](crate::RecordFiles) as it lies on the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteFile {
    /// Name of the file, without a folder; the mirrors have what is not an archive with `.gz`
    /// behind.
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
