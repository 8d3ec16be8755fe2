//! Folders and files of caches, which decide what runs on the GPU: whoever can write them runs code.
//!
//! A folder is made for its owner alone. One that belongs to somebody else, or that others can
//! write, is not used; files are read if they are regular, and not larger than they can be.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

/// Makes a folder, and those above it, for this user alone.
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

/// Why what is in a folder cannot be trusted, if it cannot; nothing is wrong with a folder that is
/// not there.
#[cfg(unix)]
pub(crate) fn objection(folder: &Path) -> Option<String> {
    // SAFETY: the function takes nothing, and cannot fail.
    let user = unsafe { libc::geteuid() };
    objection_of(folder, user)
}

#[cfg(unix)]
fn objection_of(folder: &Path, user: u32) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let data = folder.metadata().ok()?;
    if data.uid() != user {
        return Some(format!(
            "it belongs to user {}, this program runs as user {user}; set SPIKELET_CACHE to a \
             folder of your own",
            data.uid()
        ));
    }
    (data.mode() & 0o022 != 0).then(|| {
        format!(
            "other users can write it (mode {:o}); remove it, or say `chmod go-w` if nobody did",
            data.mode() & 0o7777
        )
    })
}

/// Why what is in a folder cannot be trusted, if it cannot.
#[cfg(not(unix))]
pub(crate) fn objection(_: &Path) -> Option<String> {
    None
}

/// Opens a regular file of at most `limit` bytes and reads it. Whatever else has its name, a link
/// or a pipe, is an error.
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<(File, Vec<u8>)> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // A pipe is opened without waiting for its other end.
        options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    }
    let file = options.open(path)?;
    let data = file.metadata()?;
    if !data.is_file() || data.len() > limit {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    let mut bytes = vec![];
    // It may grow while it is read.
    (&file).take(limit).read_to_end(&mut bytes)?;
    Ok((file, bytes))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_folder_is_made_for_its_owner_alone() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("a/b");
        assert_eq!(objection(&folder), None);
        create(&folder).unwrap();
        for made in [&folder, &root.path().join("a")] {
            let mode = made.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700);
        }
        assert_eq!(objection(&folder), None);
    }

    #[test]
    fn a_folder_that_others_can_write_or_of_another_user_is_objected_to() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path();
        for mode in [0o720, 0o702, 0o777] {
            fs::set_permissions(folder, Permissions::from_mode(mode)).unwrap();
            assert!(objection(folder).is_some(), "{mode:o}");
        }
        fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
        assert_eq!(objection(folder), None);
        assert!(objection_of(folder, u32::MAX - 1).is_some());
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
