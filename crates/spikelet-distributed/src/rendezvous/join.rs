//! The other ranks' side of the rendezvous.

use super::super::handshake::{GreetError, Purpose, greet};
use super::super::wire::{self, is_timeout, printable, printable_lines, until};
use super::super::world::World;
use super::{
    Answer, Control, Fingerprint, GREETING, Hello, LONGEST_ANSWER, Met, PAUSE, broken, failed,
    open_at, resolve,
};
use spikelet_core::Result;
use std::io::{self, ErrorKind};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// Goes to rank 0.
pub(super) fn join(
    world: &World,
    fingerprint: &Fingerprint,
    limit: Duration,
    deadline: Instant,
) -> Result<Met> {
    let stream = connect_with_retry(world, limit, deadline)?;
    let lost = |e| {
        broken(
            &format!("the connection to rank 0 at {} failed", world.master),
            &e,
        )
    };
    let root = stream.peer_addr().map_err(lost)?.ip();
    let listener = TcpListener::bind((open_at(world, root), 0)).map_err(lost)?;
    let hello = Hello {
        rank: world.rank,
        size: world.size,
        host: world.host.clone(),
        port: listener.local_addr().map_err(lost)?.port(),
        fingerprint: fingerprint.clone(),
    };
    wire::send(&stream, &hello).map_err(lost)?;
    // Rank 0 may have begun to wait later, and says itself when its time is over.
    let patience = until(deadline) + limit + GREETING;
    stream.set_read_timeout(Some(patience)).map_err(lost)?;
    match wire::receive(&stream, LONGEST_ANSWER) {
        Ok(Answer::Welcome { token, mut peers }) => {
            for peer in &mut peers {
                peer.host = printable(&peer.host);
            }
            stream.set_read_timeout(None).map_err(lost)?;
            Ok(Met {
                peers,
                token,
                control: Control::Member(stream),
                listener,
                root,
            })
        }
        Ok(Answer::Refused { reason }) => Err(failed(
            printable_lines(&reason),
            "start all ranks with the same program and arguments, each with a rank of its own",
        )),
        Err(e) => Err(failed(
            format!(
                "rank 0 at {} ended while ranks were meeting ({e})",
                world.master
            ),
            "see what rank 0 says",
        )),
    }
}

/// Connects to rank 0, which may not be there yet.
fn connect_with_retry(world: &World, limit: Duration, deadline: Instant) -> Result<TcpStream> {
    loop {
        let last = match attempt(world, deadline) {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(e)) => e.to_string(),
            Err(stranger) => return Err(stranger),
        };
        if Instant::now() >= deadline {
            return Err(failed(
                format!(
                    "after {} s rank {} on {} has not reached rank 0 at {}: {last}",
                    limit.as_secs_f64(),
                    world.rank,
                    world.host,
                    world.master
                ),
                "start rank 0 there, and see that no firewall is between; --rendezvous-timeout gives more time",
            ));
        }
        thread::sleep(PAUSE * 5);
    }
}

/// One try: what can be tried again is the inner error.
fn attempt(world: &World, deadline: Instant) -> Result<io::Result<TcpStream>> {
    let address = match resolve(world) {
        Ok(address) => address,
        // Names may take a moment to be known in a cluster that has just been started.
        Err(e) if Instant::now() < deadline => return Ok(Err(io::Error::other(e.to_string()))),
        Err(e) => return Err(e),
    };
    let stream = match TcpStream::connect_timeout(&address, until(deadline).min(GREETING)) {
        Ok(stream) => stream,
        Err(e) => return Ok(Err(e)),
    };
    // Where nobody listens yet, a system may connect a port with itself.
    if stream.local_addr().ok() == stream.peer_addr().ok() {
        return Ok(Err(ErrorKind::ConnectionRefused.into()));
    }
    let stranger = |how: &str| {
        failed(
            format!(
                "what answers at {} is not rank 0 of spikelet: {how}",
                world.master
            ),
            "check the address, or choose a port that nobody else uses, the same for all ranks",
        )
    };
    match greet(
        &stream,
        world.key(),
        Purpose::Rendezvous,
        Instant::now() + GREETING,
    ) {
        Ok(()) => Ok(Ok(stream)),
        Err(GreetError::NotSpikelet(said)) => {
            let said = printable(&String::from_utf8_lossy(&said));
            Err(stranger(&format!("it says `{said}…`")))
        }
        Err(GreetError::OtherKey) => Err(failed(
            format!(
                "rank 0 at {} and rank {} on {} have different secrets",
                world.master, world.rank, world.host
            ),
            "give all ranks the same: --rendezvous-secret-file, or the variable SPIKELET_RENDEZVOUS_SECRET",
        )),
        Err(GreetError::Io(e)) if is_timeout(&e) => Err(stranger("it says nothing")),
        Err(GreetError::Io(e)) => Ok(Err(e)),
    }
}
