//! Downloads from a server on this machine that sends the answers that a test defines.

use crate::gzip;
use crate::idx_file;
use crate::server;

use std::fs;
use std::net::TcpListener;
use std::path::Path;

use gzip::gzip;
use idx_file::idx_file;
use server::{Server, answer, ok, remote};
use spikelet_data::download::{DownloadError, Failure, fetch, fetch_archive, fetch_large};
use spikelet_data::{Error, Files, Progress, Source, mnist};
use tempfile::TempDir;

/// An address on which no server listens.
fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}/", listener.local_addr().unwrap())
}

fn content() -> Vec<u8> {
    idx_file(&[50_000], &[3; 50_000])
}

/// Tries mirrors that give `first`, if anything, and then, if wanted, one that gives the file.
fn fetch_after(first: Option<Vec<u8>>, then_good: bool) -> (TempDir, Result<(), DownloadError>) {
    let mut mirrors = vec![match first {
        Some(first) => Server::start(Box::new(move |_| first.clone())).url,
        None => nobody(),
    }];
    if then_good {
        mirrors.push(Server::start(Box::new(|_| ok(&gzip(&content())))).url);
    }
    let folder = TempDir::new().unwrap();
    let target = folder.path().join("deep/down");
    let file = remote("labels", &content());
    let result = fetch(&file, &mirrors, &target, Progress::Quiet).map(|path| {
        assert_eq!(path, target.join("labels"));
        assert_eq!(fs::read(path).unwrap(), content());
    });
    assert_eq!(files_in(&target), usize::from(result.is_ok()));
    (folder, result)
}

/// The number of files in the folder: incomplete files must not remain.
fn files_in(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

fn only_failure(first: Option<Vec<u8>>) -> Failure {
    let (_folder, result) = fetch_after(first.clone(), true);
    result.expect("the second mirror has the file");
    let (_folder, result) = fetch_after(first, false);
    let mut error = result.unwrap_err();
    assert_eq!(error.attempts.len(), 1);
    error.attempts.remove(0).failure
}

#[test]
fn a_good_file_arrives_uncompressed() {
    let (_folder, result) = fetch_after(Some(ok(&gzip(&content()))), false);
    result.unwrap();
}

#[test]
fn a_file_that_was_decompressed_on_the_way_is_as_good() {
    let (_folder, result) = fetch_after(Some(ok(&content())), false);
    result.unwrap();
}

#[test]
fn a_name_that_leads_out_of_the_folder_is_refused() {
    let server = Server::start(Box::new(|_| ok(&gzip(&content()))));
    let mirrors = [server.url.clone()];
    for name in [
        "../labels",
        "below/labels",
        "/tmp/labels",
        "..",
        ".",
        "",
        "labels/",
    ] {
        let folder = TempDir::new().unwrap();
        let target = folder.path().join("target");
        let file = remote(name, &content());
        let wanted = [name.to_owned()];
        for result in [
            fetch(&file, &mirrors, &target, Progress::Quiet).map(|_| ()),
            fetch_archive(
                &remote("a.tar.gz", b""),
                &wanted,
                &mirrors,
                &target,
                Progress::Quiet,
            ),
        ] {
            let error = result.unwrap_err();
            assert!(
                matches!(error.attempts[0].failure, Failure::Name),
                "{error}"
            );
        }
        assert!(!folder.path().join("labels").exists() && !target.exists());
    }
    assert!(server.asked().is_empty());
}

#[test]
fn a_wrong_checksum_leads_to_the_next_mirror() {
    let mut wrong = content();
    wrong[1000] ^= 1;
    let failure = only_failure(Some(ok(&gzip(&wrong))));
    assert!(matches!(failure, Failure::Checksum { .. }), "{failure}");
}

#[test]
fn a_missing_file_leads_to_the_next_mirror() {
    let failure = only_failure(Some(answer("404 Not Found", b"no", 2)));
    assert!(
        matches!(failure, Failure::Status { status: 404 }),
        "{failure}"
    );
}

#[test]
fn a_transfer_that_breaks_off_leads_to_the_next_mirror() {
    let body = gzip(&content());
    let failure = only_failure(Some(answer("200 OK", &body[..body.len() / 2], body.len())));
    assert!(matches!(failure, Failure::Transfer { .. }), "{failure}");
    // The same within content that arrives plain.
    let failure = only_failure(Some(answer("200 OK", &content()[..9_000], 50_008)));
    assert!(matches!(failure, Failure::Transfer { .. }), "{failure}");
}

#[test]
fn a_short_file_leads_to_the_next_mirror() {
    let failure = only_failure(Some(ok(&gzip(&content()[..9_000]))));
    assert!(
        matches!(
            failure,
            Failure::Length {
                found: 9_000,
                expected: 50_008
            }
        ),
        "{failure}"
    );
}

#[test]
fn a_file_without_end_is_not_read_to_it() {
    let bomb = gzip(&vec![0; 20_000_000]);
    let failure = only_failure(Some(ok(&bomb)));
    assert!(
        matches!(failure, Failure::Length { found: 50_009, .. }),
        "{failure}"
    );
}

#[test]
fn damaged_compression_leads_to_the_next_mirror() {
    let mut body = gzip(&content());
    let middle = body.len() / 2;
    body[middle..].fill(0xff);
    let failure = only_failure(Some(ok(&body)));
    assert!(matches!(failure, Failure::Transfer { .. }), "{failure}");
}

#[test]
fn a_server_that_is_not_there_leads_to_the_next_mirror() {
    let failure = only_failure(None);
    assert!(matches!(failure, Failure::Request(_)), "{failure}");
}

#[test]
fn a_folder_that_cannot_be_written_is_said_at_once() {
    let folder = TempDir::new().unwrap();
    let occupied = folder.path().join("a-file");
    fs::write(&occupied, "in the way").unwrap();
    let file = remote("labels", &content());
    let error = fetch(&file, &[nobody(), nobody()], &occupied, Progress::Quiet).unwrap_err();
    assert_eq!(error.attempts.len(), 1);
    assert!(matches!(error.attempts[0].failure, Failure::Write { .. }));
}

/// A data set of five images whose files are these.
fn small_source(mirrors: Vec<String>) -> (Source, [Vec<u8>; 4]) {
    let contents = [
        idx_file(&[3, 28, 28], &[1; 3 * 784]),
        idx_file(&[3], &[5, 0, 9]),
        idx_file(&[2, 28, 28], &[2; 2 * 784]),
        idx_file(&[2], &[7, 2]),
    ];
    let mut source = mnist::source();
    let Files::Idx(files) = &mut source.files else {
        panic!("MNIST lies in IDX files");
    };
    for (file, content) in files.iter_mut().zip(&contents) {
        *file = remote(&file.name, content);
    }
    source.mirrors = mirrors;
    (source, contents)
}

#[test]
fn a_data_set_is_fetched_once_and_only_as_far_as_it_is_missing() {
    let (mut source, contents) = small_source(Vec::new());
    let Files::Idx(files) = &source.files else {
        panic!("MNIST lies in IDX files");
    };
    let files: Vec<_> = files
        .iter()
        .map(|file| format!("/data/{}.gz", file.name))
        .zip(contents.iter().map(|content| ok(&gzip(content))))
        .collect();
    let names: Vec<_> = files.iter().map(|(name, _)| name.clone()).collect();
    let server = Server::start(Box::new(move |path| {
        let known = files.iter().find(|(name, _)| name == path);
        known.map_or_else(|| answer("404 Not Found", b"", 0), |(_, file)| file.clone())
    }));
    source.mirrors = vec![server.url.clone()];

    let dir = TempDir::new().unwrap();
    let folder = dir.path().join("mnist");
    fs::create_dir(&folder).unwrap();
    fs::write(
        folder.join("train-labels-idx1-ubyte.gz"),
        gzip(&contents[1]),
    )
    .unwrap();

    let split = source.load_or_download(dir.path(), Progress::Bar).unwrap();
    assert_eq!((split.train.len(), split.test.len()), (3, 2));
    assert_eq!(
        server.asked(),
        [&names[0], &names[2], &names[3]].map(String::clone)
    );

    let again = source.load(dir.path()).unwrap();
    assert_eq!(again.digest().unwrap(), split.digest().unwrap());
    source.load_or_download(dir.path(), Progress::Bar).unwrap();
    assert_eq!(server.asked().len(), 3);
}

#[test]
fn a_failed_download_names_every_mirror_and_what_to_do_by_hand() {
    let gone = Server::start(Box::new(|_| answer("410 Gone", b"", 0)));
    let (source, contents) = small_source(vec![nobody(), gone.url.clone()]);
    let dir = TempDir::new().unwrap();
    let folder = dir.path().join("mnist");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("train-images-idx3-ubyte"), &contents[0]).unwrap();

    let error = source
        .load_or_download(dir.path(), Progress::Quiet)
        .unwrap_err();
    let message = error.to_string();
    let Error::Download(error) = error else {
        panic!("{error}");
    };
    assert_eq!(error.file, "train-labels-idx1-ubyte");
    assert_eq!(error.folder, folder);
    for mirror in &source.mirrors {
        assert!(message.contains(mirror.as_str()), "{message}");
    }
    assert!(message.contains("410"), "{message}");
    let by_hand = format!(
        "(compressed or not) into {}\n    train-labels-idx1-ubyte.gz\n    \
         t10k-images-idx3-ubyte.gz\n    t10k-labels-idx1-ubyte.gz",
        folder.display()
    );
    assert!(message.ends_with(&by_hand), "{message}");
}

/// An answer of a server that gives parts of files: this many of the promised bytes, then it closes the connection.
fn part(status: &str, version: &str, body: &[u8], sent: usize, more: &str) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nAccept-Ranges: bytes\r\nETag: \"{version}\"\r\n{more}\
         Connection: close\r\n\r\n"
    );
    [head.as_bytes(), &body[..sent]].concat()
}

#[test]
fn an_interrupted_transfer_is_continued_where_the_server_gives_parts() {
    let body: Vec<u8> = (0..100_000_u32).map(|k| ((k * 7) >> 3) as u8).collect();
    let folder = TempDir::new().unwrap();
    let fetched = |server: &Server| {
        let url = format!("{}/a.zip", server.url);
        fetch_large("a.zip", &[url], folder.path(), Progress::Quiet)
    };
    let served = body.clone();
    let count = std::sync::atomic::AtomicUsize::new(0);
    let server = Server::start(Box::new(move |_| {
        match count.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
            // The first transfer ends early; then the file is asked for, and its rest.
            0 => part("200 OK", "1", &served, 60_000, ""),
            1 => part("200 OK", "1", &served, served.len(), ""),
            2 => {
                let rest = &served[60_000..];
                let range = "Content-Range: bytes 60000-99999/100000\r\n";
                part("206 Partial Content", "1", rest, rest.len(), range)
            }
            // Another version: what is there of the old one is not used.
            3 => part("200 OK", "2", &served, 10, ""),
            _ => part("200 OK", "3", &served, served.len(), ""),
        }
    }));
    fetched(&server).expect_err("it ends early");
    assert_eq!(files_in(folder.path()), 1);
    let path = fetched(&server).expect("the rest comes");
    assert_eq!(fs::read(&path).unwrap(), body);
    assert_eq!((files_in(folder.path()), server.asked().len()), (1, 3));
    fs::remove_file(&path).unwrap();
    fetched(&server).expect_err("it ends early");
    fetched(&server).expect("it is whole");
    assert_eq!(fs::read(&path).unwrap(), body);
    assert_eq!((files_in(folder.path()), server.asked().len()), (1, 5));
}

mod hub {
    use super::{nobody, ok};
    use crate::server::{Server, answer};
    use spikelet_data::download::{Failure, Hub, HubError};
    use std::fs;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tempfile::TempDir;

    fn hub(endpoint: String, cache: &TempDir) -> Hub {
        Hub {
            endpoint,
            token: None,
            cache: cache.path().to_owned(),
        }
    }

    #[test]
    fn a_model_is_downloaded_with_its_configuration_and_asked_for_again() {
        let cache = TempDir::new().unwrap();
        let calls = AtomicUsize::new(0);
        let server = Server::start(Box::new(move |path| {
            let first = calls.fetch_add(1, Ordering::Relaxed) < 2;
            match (first, path.ends_with("config.json")) {
                (true, true) => ok(b"{}"),
                (true, false) => {
                    b"HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 7\r\nConnection: close\r\n\r\nweights".to_vec()
                }
                (false, _) => answer("304 Not Modified", b"", 0),
            }
        }));
        let hub = hub(server.url.clone(), &cache);
        let path = hub.file("hf://owner/name").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"weights");
        assert_eq!(fs::read(path.with_file_name("config.json")).unwrap(), b"{}");
        assert_eq!(hub.file("hf://owner/name").unwrap(), path);
        assert_eq!(fs::read(&path).unwrap(), b"weights");
        let asked = server.asked();
        assert_eq!(asked[0], "/data/owner/name/resolve/main/model.safetensors");
        assert_eq!(asked[1], "/data/owner/name/resolve/main/config.json");
        // Without an answer the file that is there is used.
        let away = super::hub::hub(nobody(), &cache);
        assert_eq!(away.file("hf://owner/name").unwrap(), path);
    }

    #[test]
    fn a_commit_is_downloaded_once_and_needs_no_configuration() {
        let cache = TempDir::new().unwrap();
        let server = Server::start(Box::new(|path| match path.ends_with("config.json") {
            true => answer("404 Not Found", b"", 0),
            false => ok(b"weights"),
        }));
        let hub = hub(server.url.clone(), &cache);
        let commit = "hf://owner/name@0123456789abcdef0123456789abcdef01234567";
        let path = hub.file(commit).unwrap();
        let asked = server.asked().len();
        assert_eq!(hub.file(commit).unwrap(), path);
        assert_eq!(server.asked().len(), asked);
        // A model without a configuration is there without the server, too.
        hub.file("hf://owner/name").unwrap();
        super::hub::hub(nobody(), &cache)
            .file("hf://owner/name")
            .unwrap();
    }

    #[test]
    fn what_cannot_be_had_says_why_and_leaves_no_file() {
        let cache = TempDir::new().unwrap();
        let short = Server::start(Box::new(|_| answer("200 OK", b"weigh", 7)));
        let missing = Server::start(Box::new(|_| answer("404 Not Found", b"", 0)));
        for (endpoint, status) in [
            (short.url, None),
            (missing.url, Some(404)),
            (nobody(), None),
        ] {
            let error = hub(endpoint, &cache).file("hf://owner/name").unwrap_err();
            let HubError::Download { failure, .. } = error else {
                panic!("{error}");
            };
            if let Some(expected) = status {
                assert!(matches!(failure, Failure::Status { status } if status == expected));
            }
            assert!(
                !cache
                    .path()
                    .join("owner/name/main/model.safetensors")
                    .exists()
            );
        }
        for wrong in [
            "hf://owner",
            "hf://../x/y",
            "hf://owner/name/../../x",
            "hf://owner//x",
            "hf://o w/n",
        ] {
            let error = hub(nobody(), &cache).file(wrong).unwrap_err();
            assert!(matches!(error, HubError::Address { .. }), "{wrong}");
        }
    }
}
