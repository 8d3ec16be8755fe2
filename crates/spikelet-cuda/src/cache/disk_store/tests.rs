//! Stores in temporary folders.

use super::*;
use std::fs::File;

static FORMAT: Format = Format {
    magic: b"spikelet  test 1",
    suffix: ".test",
    contents: "tests",
};

#[test]
fn a_content_is_read_as_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let store = DiskStore::new(Some(folder.path().join("a/b")), &FORMAT);
    assert_eq!(store.read(&[1; 32]), None);
    store.write(&[1; 32], b"content");
    store.write(&[2; 32], b"");
    assert_eq!(store.read(&[1; 32]).unwrap(), b"content");
    assert_eq!(store.read(&[2; 32]).unwrap(), b"");
    assert_eq!(store.read(&[3; 32]), None);
    let none = DiskStore::new(None, &FORMAT);
    none.write(&[1; 32], b"content");
    assert_eq!(none.read(&[1; 32]), None);
}

#[test]
fn a_damaged_truncated_or_foreign_file_is_not_read_and_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let store = DiskStore::new(Some(folder.path().to_path_buf()), &FORMAT);
    store.write(&[1; 32], b"content");
    let file = store.file(&[1; 32]).unwrap();
    let complete = fs::read(&file).unwrap();
    assert_eq!(complete.len(), HEADER + 7);
    for at in 0..complete.len() {
        let mut damaged = complete.clone();
        damaged[at] ^= 1;
        fs::write(&file, &damaged).unwrap();
        assert_eq!(store.read(&[1; 32]), None, "byte {at}");
        fs::write(&file, &complete[..at]).unwrap();
        assert_eq!(store.read(&[1; 32]), None, "length {at}");
    }
    fs::write(store.file(&[2; 32]).unwrap(), &complete).unwrap();
    assert_eq!(store.read(&[2; 32]), None);
    store.write(&[1; 32], b"content");
    assert_eq!(store.read(&[1; 32]).unwrap(), b"content");
}

fn disk(folder: &tempfile::TempDir) -> DiskStore {
    DiskStore::new(Some(folder.path().join("a/b")), &FORMAT)
}

#[test]
fn the_kernel_that_was_unused_for_the_longest_time_goes_first() {
    let folder = tempfile::tempdir().unwrap();
    let mut disk = disk(&folder);
    let file = (HEADER + 1000) as u64;
    disk.limit = 2 * file;
    let age = |key: &Key, seconds| {
        let file = File::open(disk.file(key).unwrap()).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(seconds))
            .unwrap();
    };
    disk.write(&[1; 32], &[0; 1000]);
    disk.write(&[2; 32], &[0; 1000]);
    age(&[1; 32], 200);
    age(&[2; 32], 100);
    // Reading is using.
    assert!(disk.read(&[1; 32]).is_some());
    disk.write(&[3; 32], &[0; 1000]);
    assert!(disk.read(&[1; 32]).is_some());
    assert!(disk.read(&[2; 32]).is_none());
    assert!(disk.read(&[3; 32]).is_some());
    let status = disk.status();
    assert_eq!((status.kernels, status.bytes), (2, 2 * file));
    assert_eq!(status.problem, None);
}

#[test]
fn files_of_others_are_left_alone_and_abandoned_ones_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let mut disk = disk(&folder);
    disk.limit = 0;
    let inside = folder.path().join("a/b");
    fs::create_dir_all(&inside).unwrap();
    let foreign = inside.join("thesis.txt");
    let abandoned = inside.join(format!("{UNFINISHED}1"));
    let being_written = inside.join(format!("{UNFINISHED}2"));
    for path in [&foreign, &abandoned, &being_written] {
        fs::write(path, "text").unwrap();
    }
    let long_ago = SystemTime::now() - 2 * ABANDONED;
    for path in [&foreign, &abandoned] {
        let file = File::open(path).unwrap();
        file.set_modified(long_ago).unwrap();
    }
    disk.write(&[1; 32], b"code");
    assert!(foreign.exists());
    assert!(!abandoned.exists());
    assert!(being_written.exists());
    assert_eq!(disk.read(&[1; 32]), None);
}

#[cfg(unix)]
#[test]
fn a_folder_that_others_can_write_is_not_used_and_the_status_reports_it() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let disk = disk(&folder);
    disk.write(&[1; 32], b"code");
    let inside = folder.path().join("a/b");
    let set = |mode| fs::set_permissions(&inside, fs::Permissions::from_mode(mode)).unwrap();
    set(0o777);
    assert_eq!(disk.read(&[1; 32]), None);
    disk.write(&[2; 32], b"more");
    assert!(disk.status().problem.unwrap().contains("mode 777"));
    set(0o700);
    assert_eq!(disk.read(&[1; 32]).unwrap(), b"code");
    assert_eq!(disk.read(&[2; 32]), None);
}

#[cfg(unix)]
#[test]
fn links_pipes_and_large_files_are_not_read_and_do_not_block() {
    let folder = tempfile::tempdir().unwrap();
    let disk = disk(&folder);
    disk.write(&[1; 32], b"code");
    let file = disk.file(&[1; 32]).unwrap();
    fs::rename(&file, folder.path().join("elsewhere")).unwrap();
    std::os::unix::fs::symlink(folder.path().join("elsewhere"), &file).unwrap();
    assert_eq!(disk.read(&[1; 32]), None, "a link");
    let pipe = std::ffi::CString::new(disk.file(&[2; 32]).unwrap().to_str().unwrap()).unwrap();
    // SAFETY: the path ends with a zero byte.
    assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
    assert_eq!(disk.read(&[2; 32]), None, "a pipe");
    let large = File::create(disk.file(&[3; 32]).unwrap()).unwrap();
    large.set_len(3 << 30).unwrap();
    assert_eq!(disk.read(&[3; 32]), None, "a file of 3 GiB");
}

#[test]
fn the_status_names_the_problem_and_creates_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let status = disk(&folder).status();
    assert_eq!((status.kernels, status.bytes), (0, 0));
    assert_eq!(status.problem, None);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);

    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(
        DiskStore::new(Some(file.join("kernels")), &FORMAT)
            .status()
            .problem
            .is_some()
    );
    assert!(DiskStore::new(None, &FORMAT).status().problem.is_some());
}
