//! Folders and files of caches. Cached code runs on the GPU, so a user who can write to them can run code.
//!
//! A folder is created with access for its owner only. A folder of another user, or with write access
//! for others, is not used; only regular files up to a maximum size are read.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

/// Creates a folder and its parents with access for this user only.
pub(crate) fn create(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(folder)
}

/// The reason why the content of a folder cannot be trusted, if any; `None` for a folder that does not
/// exist.
#[cfg(unix)]
pub(crate) fn distrust_reason(folder: &Path) -> Option<String> {
    // SAFETY: the function has no arguments and cannot fail.
    let user = unsafe { libc::geteuid() };
    distrust_reason_for(folder, user)
}

#[cfg(unix)]
fn distrust_reason_for(folder: &Path, user: u32) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let data = folder.metadata().ok()?;
    if data.uid() != user {
        return Some(format!(
            "it belongs to user {}, this program runs as user {user}; set SPIKELET_CACHE to a \
             folder of this user",
            data.uid()
        ));
    }
    (data.mode() & 0o022 != 0).then(|| {
        format!(
            "other users can write to it (mode {:o}); remove it, or run `chmod go-w` if its content is \
             trusted",
            data.mode() & 0o7777
        )
    })
}

/// The reason why the content of a folder cannot be trusted, if any.
#[cfg(not(unix))]
pub(crate) fn distrust_reason(_: &Path) -> Option<String> {
    None
}

/// Opens a regular file of at most `limit` bytes and reads it. A link, a pipe or a larger file is an
/// error.
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<(File, Vec<u8>)> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // Opening a pipe must not block until its other end is opened.
        options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    }
    let file = options.open(path)?;
    let data = file.metadata()?;
    if !data.is_file() || data.len() > limit {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    let mut bytes = vec![];
    // The file may grow while it is read.
    (&file).take(limit).read_to_end(&mut bytes)?;
    Ok((file, bytes))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_folder_is_created_with_access_for_its_owner_only() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("a/b");
        assert_eq!(distrust_reason(&folder), None);
        create(&folder).unwrap();
        for created in [&folder, &root.path().join("a")] {
            let mode = created.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700);
        }
        assert_eq!(distrust_reason(&folder), None);
    }

    #[test]
    fn a_folder_that_others_can_write_or_of_another_user_is_not_trusted() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path();
        for mode in [0o720, 0o702, 0o777] {
            fs::set_permissions(folder, Permissions::from_mode(mode)).unwrap();
            assert!(distrust_reason(folder).is_some(), "{mode:o}");
        }
        fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
        assert_eq!(distrust_reason(folder), None);
        assert!(distrust_reason_for(folder, u32::MAX - 1).is_some());
    }

    #[test]
    fn links_pipes_folders_and_large_files_are_not_read() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::write(at("file"), b"12345678").unwrap();
        std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
        let pipe = std::ffi::CString::new(at("pipe").to_str().unwrap()).unwrap();
        // SAFETY: the path ends with a zero byte.
        assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
        assert_eq!(read(&at("file"), 8).unwrap().1, b"12345678");
        assert!(read(&at("file"), 7).is_err());
        for name in ["link", "pipe", ".", "none"] {
            assert!(read(&at(name), 8).is_err(), "{name}");
        }
    }
}
