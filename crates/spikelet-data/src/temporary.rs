//! Files that get their name when they are complete.

use std::io;
use std::path::Path;

use tempfile::NamedTempFile;

/// A temporary file in `folder`; its name begins with `prefix`.
pub(crate) fn temporary_in(folder: &Path, prefix: &str) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix).suffix(".part");
    // Temporary files are private by default; a data set may be shared.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let file = builder.tempfile_in(folder)?;
    // Its writer lives: another process does not remove it as abandoned. Some file systems have no locks.
    let _ = file.as_file().try_lock();
    Ok(file)
}
