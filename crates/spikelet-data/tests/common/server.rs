//! A server on this machine that sends the answers that a test defines.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use sha2::{Digest, Sha256};
use spikelet_data::RemoteFile;

/// The answer of a server for a path.
pub type Answers = Box<dyn Fn(&str) -> Vec<u8> + Send>;

/// A server that runs until the process of the test ends.
pub struct Server {
    pub url: String,
    /// The requested paths.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub fn start(answers: Answers) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/data", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = asked.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                serve(stream.unwrap(), &log, &answers);
            }
        });
        Self { url, asked }
    }

    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn serve(mut stream: TcpStream, log: &Mutex<Vec<String>>, answers: &Answers) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let request = lines.next().unwrap().unwrap();
    while lines.next().is_some_and(|line| !line.unwrap().is_empty()) {}
    let path = request.split(' ').nth(1).unwrap().to_owned();
    log.lock().unwrap().push(path.clone());
    // The client may have closed the connection after a refused file.
    let _ = stream.write_all(&answers(&path));
}

pub fn ok(body: &[u8]) -> Vec<u8> {
    answer("200 OK", body, body.len())
}

pub fn answer(status: &str, body: &[u8], promised: usize) -> Vec<u8> {
    let mut answer =
        format!("HTTP/1.1 {status}\r\nContent-Length: {promised}\r\nConnection: close\r\n\r\n")
            .into_bytes();
    answer.extend(body);
    answer
}

/// The description of a file with this content.
pub fn remote(name: &str, content: &[u8]) -> RemoteFile {
    let digest = Sha256::digest(content);
    RemoteFile {
        name: name.into(),
        bytes: content.len() as u64,
        sha256: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}
