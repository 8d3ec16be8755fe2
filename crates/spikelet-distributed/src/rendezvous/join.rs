//! The side of the ranks other than 0 in the rendezvous.

use super::super::error::RendezvousError;
use super::super::handshake::{HandshakeError, Purpose, client_handshake};
use super::super::wire::{self, is_timeout, printable, printable_lines, until};
use super::super::world::World;
use super::{
    Answer, Control, Fingerprint, HANDSHAKE_TIMEOUT, Hello, MAX_ANSWER_BYTES, Membership,
    POLL_INTERVAL, listening_address, resolve,
};
use std::io::{self, ErrorKind};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// Connects to rank 0 and waits for its answer.
pub(super) fn join(
    world: &World,
    fingerprint: &Fingerprint,
    limit: Duration,
    deadline: Instant,
) -> Result<Membership, RendezvousError> {
    let stream = connect_with_retry(world, limit, deadline)?;
    let lost = |source| RendezvousError::Connection {
        rank: 0,
        host: world.master.to_string(),
        source,
    };
    let root = stream.peer_addr().map_err(lost)?.ip();
    let listener = TcpListener::bind((listening_address(world, root), 0)).map_err(lost)?;
    let hello = Hello {
        rank: world.rank,
        size: world.size,
        host: world.host.clone(),
        port: listener.local_addr().map_err(lost)?.port(),
        fingerprint: fingerprint.clone(),
    };
    wire::send(&stream, &hello).map_err(lost)?;
    // Rank 0 may have been started later, and reports itself when its time limit has passed.
    let timeout = until(deadline) + limit + HANDSHAKE_TIMEOUT;
    stream.set_read_timeout(Some(timeout)).map_err(lost)?;
    match wire::receive(&stream, MAX_ANSWER_BYTES) {
        Ok(Answer::Welcome { token, mut peers }) => {
            for peer in &mut peers {
                peer.host = printable(&peer.host);
            }
            stream.set_read_timeout(None).map_err(lost)?;
            Ok(Membership {
                peers,
                token,
                control: Control::Member(stream),
                listener,
                root,
            })
        }
        Ok(Answer::Refused { reason }) => Err(RendezvousError::Refused {
            reason: printable_lines(&reason),
        }),
        Err(source) => Err(lost(source)),
    }
}

/// Connects to rank 0, which may be started later.
fn connect_with_retry(
    world: &World,
    limit: Duration,
    deadline: Instant,
) -> Result<TcpStream, RendezvousError> {
    loop {
        let last = match attempt(world, deadline) {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(e)) => e.to_string(),
            Err(error) => return Err(error),
        };
        if Instant::now() >= deadline {
            return Err(RendezvousError::Unreachable {
                rank: world.rank,
                host: world.host.clone(),
                master: world.master.clone(),
                waited: limit,
                last,
            });
        }
        thread::sleep(POLL_INTERVAL * 5);
    }
}

/// One attempt to connect. The inner error is one that may be retried.
fn attempt(world: &World, deadline: Instant) -> Result<io::Result<TcpStream>, RendezvousError> {
    let address = match resolve(world) {
        Ok(address) => address,
        // In a cluster that has just been started, names may not be known yet.
        Err(e) if Instant::now() < deadline => return Ok(Err(io::Error::other(e))),
        Err(e) => return Err(e),
    };
    let timeout = until(deadline).min(HANDSHAKE_TIMEOUT);
    let stream = match TcpStream::connect_timeout(&address, timeout) {
        Ok(stream) => stream,
        Err(e) => return Ok(Err(e)),
    };
    // While no process listens, a system may connect a port with itself.
    if stream.local_addr().ok() == stream.peer_addr().ok() {
        return Ok(Err(ErrorKind::ConnectionRefused.into()));
    }
    let other_program = |received| RendezvousError::NotRankZero {
        master: world.master.clone(),
        received,
    };
    let end = Instant::now() + HANDSHAKE_TIMEOUT;
    match client_handshake(&stream, world.key(), Purpose::Rendezvous, end) {
        Ok(()) => Ok(Ok(stream)),
        Err(HandshakeError::NotSpikelet(bytes)) => {
            let text = printable(&String::from_utf8_lossy(&bytes));
            Err(other_program(Some(text)))
        }
        Err(HandshakeError::OtherKey) => Err(RendezvousError::DifferentSecrets {
            master: world.master.clone(),
            rank: world.rank,
            host: world.host.clone(),
        }),
        Err(HandshakeError::Io(e)) if is_timeout(&e) => Err(other_program(None)),
        Err(HandshakeError::Io(e)) => Ok(Err(e)),
    }
}
