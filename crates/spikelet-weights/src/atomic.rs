//! Files that appear complete or not at all.

use std::io::{BufWriter, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use crate::error::{Error, ErrorKind, Result};

/// Writes a file beside `path` and moves it there. A file that was there is unchanged if this fails.
///
/// # Errors
/// [`ErrorKind::Write`], and the errors of `content`.
pub fn write(path: &Path, content: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let error = |error| Error::from(ErrorKind::Write(error)).in_file(path);
    let mut file = create_beside(path).map_err(error)?;
    let mut buffer = BufWriter::new(file.as_file_mut());
    content(&mut buffer).map_err(|error| error.in_file(path))?;
    buffer.flush().map_err(error)?;
    drop(buffer);
    file.as_file().sync_all().map_err(error)?;
    file.persist(path).map_err(|failed| error(failed.error))?;
    Ok(())
}

/// A temporary file in the folder of `path`, because a rename is atomic only within a file system.
fn create_beside(path: &Path) -> std::io::Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".weights.").suffix(".tmp");
    #[cfg(unix)]
    {
        // Temporary files are private by default; this one becomes a regular file, for which the umask applies.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let file = builder.tempfile_in(folder.unwrap_or(Path::new(".")))?;
    // Its writer lives: another process does not remove it as abandoned. Some file systems have no locks.
    let _ = file.as_file().try_lock();
    Ok(file)
}
