//! Ring all-reduce and broadcast.
//!
//! Values are split into one segment per rank. Each segment travels around the ring twice: first it is
//! summed, then the sum is distributed.
//!
//! ```text
//! reduce-scatter   step s: rank r sends segment r − s,     adds the received one to segment r − s − 1
//! all-gather       step s: rank r sends segment r + 1 − s, stores the received one as segment r − s
//! ```
//!
//! Each segment is summed in one order, beginning with its own rank, and all ranks receive the same
//! bits. Segments are sent in blocks: a block is forwarded as soon as it is received. A separate thread
//! sends, so that no rank blocks on a send while it should receive.

use super::error::RendezvousError;
use super::handshake::{Purpose, client_handshake};
use super::handshake_server::{Client, HandshakeServer, ServerLimits};
use super::rendezvous::{Membership, Peer};
use super::wire::{self, is_timeout, until};
use spikelet_graph::ProcessGroup;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::ops::Range;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The time limit of the handshake with the previous rank.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

/// The maximal number of connections with an incomplete handshake.
const MAX_PENDING: usize = 16;

/// The interval between two polls of the sockets.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// The number of values of a block.
const BLOCK: usize = 1 << 16;

/// The length of the header that neighbors compare before they exchange values, in bytes.
const HEADER: usize = 17;

const SUM: u8 = 1;
const BROADCAST: u8 = 2;

/// The connections to both neighbors.
struct Link {
    previous: TcpStream,
    /// Blocks to be sent to the next rank.
    outgoing: Option<Sender<Vec<u8>>>,
    /// The memory of sent blocks.
    sent: Receiver<Vec<u8>>,
    /// The memory of blocks that were not forwarded.
    idle: Vec<Vec<u8>>,
    sender: Option<JoinHandle<io::Result<()>>>,
    /// The number of collectives so far, which neighbors compare.
    count: u64,
    /// The error of an earlier collective: no further one can run.
    error: Option<String>,
    /// Whether a neighbor is lost, for a reason that is not known here.
    neighbor_lost: bool,
}

/// The ring of ranks, as seen by one of them.
pub(super) struct Ring {
    rank: usize,
    hosts: Vec<String>,
    link: Option<Mutex<Link>>,
    /// The same connections, which another thread closes without waiting for the lock of the link.
    streams: Vec<TcpStream>,
}

impl Ring {
    /// Connects to both neighbors.
    ///
    /// # Errors
    /// When a neighbor does not connect within the time limit `rendezvous`.
    pub(super) fn connect(
        rank: usize,
        members: &Membership,
        rendezvous: Duration,
        timeout: Duration,
    ) -> Result<Self, RendezvousError> {
        let size = members.peers.len();
        let hosts = members.peers.iter().map(|peer| peer.host.clone()).collect();
        if size == 1 {
            return Ok(Self {
                rank,
                hosts,
                link: None,
                streams: vec![],
            });
        }
        let deadline = Instant::now() + rendezvous;
        let (after, before) = ((rank + 1) % size, (rank + size - 1) % size);
        let failed = |neighbor: usize, source: io::Error| RendezvousError::Neighbor {
            rank,
            neighbor,
            host: members.peers[neighbor].host.clone(),
            source,
        };
        let neighbors = connect_neighbors(members, rank, [after, before], deadline);
        let [next, previous] = neighbors.map_err(|(neighbor, e)| failed(neighbor, e))?;
        let opened = || {
            for stream in [&next, &previous] {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(timeout))?;
                stream.set_write_timeout(Some(timeout))?;
            }
            Ok(vec![next.try_clone()?, previous.try_clone()?])
        };
        let streams = opened().map_err(|e| failed(after, e))?;
        let (outgoing, blocks) = mpsc::channel::<Vec<u8>>();
        let (done, sent) = mpsc::channel();
        let sender = thread::Builder::new().spawn(move || send_all(next, &blocks, &done));
        let sender = sender.map_err(|e| failed(after, e))?;
        let link = Link {
            previous,
            outgoing: Some(outgoing),
            sent,
            idle: vec![],
            sender: Some(sender),
            count: 0,
            error: None,
            neighbor_lost: false,
        };
        Ok(Self {
            rank,
            hosts,
            link: Some(Mutex::new(link)),
            streams,
        })
    }

    /// The host of each rank.
    pub(super) fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// Closes the connections, so that a running collective fails, as do all later ones.
    pub(super) fn disconnect(&self) {
        for stream in &self.streams {
            // It may be closed already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Whether a collective has failed because a neighbor is lost.
    pub(super) fn has_lost_neighbor(&self) -> bool {
        let link = self.link.as_ref();
        link.is_some_and(|link| {
            let link = link.lock().unwrap_or_else(PoisonError::into_inner);
            link.neighbor_lost
        })
    }

    fn run(
        &self,
        collective: impl FnOnce(&mut Link) -> io::Result<()>,
    ) -> spikelet_graph::Result<()> {
        let Some(link) = &self.link else {
            return Ok(());
        };
        let mut link = link.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = &link.error {
            return Err(collective_error(error.clone()));
        }
        collective(&mut link).map_err(|e| {
            let e = link.cause(e);
            let size = self.hosts.len();
            let before = (self.rank + size - 1) % size;
            let after = (self.rank + 1) % size;
            let disagree = e.kind() == ErrorKind::InvalidData;
            let problem = if disagree {
                format!(
                    "rank {} and the previous rank, {before} on {}, run different collectives: {e}",
                    self.rank, self.hosts[before]
                )
            } else if is_timeout(&e) {
                format!(
                    "rank {} received no values from its neighbors, rank {before} on {} and rank {after} on {}, in time",
                    self.rank, self.hosts[before], self.hosts[after]
                )
            } else {
                format!(
                    "rank {} lost its neighbor, rank {before} on {} or rank {after} on {}: {e}",
                    self.rank, self.hosts[before], self.hosts[after]
                )
            };
            link.error = Some(problem.clone());
            link.neighbor_lost = !is_timeout(&e) && !disagree;
            self.disconnect();
            collective_error(problem)
        })
    }
}

/// Connects to the next rank and accepts the previous one. The error has the neighbor that failed. Both
/// connections are opened concurrently: the next rank accepts this one while it connects itself.
fn connect_neighbors(
    members: &Membership,
    rank: usize,
    [after, before]: [usize; 2],
    deadline: Instant,
) -> Result<[TcpStream; 2], (usize, io::Error)> {
    let limits = ServerLimits {
        time: HANDSHAKE_TIMEOUT,
        pending: MAX_PENDING,
        message_bytes: 32,
    };
    let listener = members.listener.try_clone().map_err(|e| (before, e))?;
    let mut server = HandshakeServer::new(listener, &members.token, Purpose::Ring, limits)
        .map_err(|e| (before, e))?;
    thread::scope(|scope| {
        let connect = || connect(&members.peers[after], members, rank, deadline);
        let thread = thread::Builder::new().spawn_scoped(scope, connect);
        let mut thread = Some(thread.map_err(|e| (after, e))?);
        let (mut next, mut previous) = (None, None);
        loop {
            if let Some(finished) = thread.take_if(|thread| thread.is_finished()) {
                let connected = finished
                    .join()
                    .unwrap_or_else(|_| Err(ErrorKind::Other.into()));
                next = Some(connected.map_err(|e| (after, e))?);
            }
            let message = before.to_string().into_bytes();
            let expected = |client: &Client| client.message == message;
            previous = previous.or_else(|| server.poll().into_iter().find(expected));
            match (next.take(), previous.take()) {
                (Some(next), Some(previous)) => return Ok([next, previous.stream]),
                (_, None) if Instant::now() >= deadline => {
                    return Err((before, ErrorKind::TimedOut.into()));
                }
                found => (next, previous) = found,
            }
            thread::sleep(POLL_INTERVAL);
        }
    })
}

/// Connects to the next rank.
fn connect(
    peer: &Peer,
    members: &Membership,
    rank: usize,
    deadline: Instant,
) -> io::Result<TcpStream> {
    let address = SocketAddr::new(peer.ip.unwrap_or(members.root), peer.port);
    let stream = TcpStream::connect_timeout(&address, until(deadline))?;
    client_handshake(&stream, &members.token, Purpose::Ring, deadline)?;
    wire::send(&stream, &rank)?;
    Ok(stream)
}

/// The sending thread.
fn send_all(
    mut next: TcpStream,
    blocks: &Receiver<Vec<u8>>,
    done: &Sender<Vec<u8>>,
) -> io::Result<()> {
    for block in blocks {
        next.write_all(&block)?;
        // A dropped receiver needs no more memory.
        let _ = done.send(block);
    }
    Ok(())
}

impl Link {
    /// The cause of a failed link: that of the sending thread, if its channel is closed.
    fn cause(&mut self, seen: io::Error) -> io::Error {
        self.outgoing = None;
        if seen.kind() != ErrorKind::BrokenPipe {
            return seen;
        }
        match self.sender.take().map(JoinHandle::join) {
            Some(Ok(Err(e))) => e,
            _ => seen,
        }
    }

    fn block(&mut self) -> Vec<u8> {
        let idle = self.idle.pop().or_else(|| self.sent.try_recv().ok());
        let mut block = idle.unwrap_or_default();
        block.clear();
        block
    }

    fn send(&self, block: Vec<u8>) -> io::Result<()> {
        let sent = self.outgoing.as_ref().map(|outgoing| outgoing.send(block));
        match sent {
            Some(Ok(())) => Ok(()),
            _ => Err(ErrorKind::BrokenPipe.into()),
        }
    }

    fn send_values(&mut self, values: &[f32]) -> io::Result<()> {
        let mut block = self.block();
        block.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        self.send(block)
    }

    fn receive(&mut self, bytes: usize) -> io::Result<Vec<u8>> {
        let mut block = self.block();
        block.resize(bytes, 0);
        self.previous.read_exact(&mut block)?;
        Ok(block)
    }

    /// Checks that the previous rank runs the same collective with the same number of values.
    fn compare_headers(&mut self, kind: u8, length: usize) -> io::Result<()> {
        self.count += 1;
        let mut own = self.block();
        own.push(kind);
        own.extend(self.count.to_le_bytes());
        own.extend((length as u64).to_le_bytes());
        let expected = own.clone();
        self.send(own)?;
        let found = self.receive(HEADER)?;
        if found == expected {
            return Ok(());
        }
        let problem = format!(
            "this one {}, the other one {}",
            describe_collective(&expected),
            describe_collective(&found)
        );
        Err(io::Error::new(ErrorKind::InvalidData, problem))
    }

    fn all_reduce(&mut self, rank: usize, size: usize, values: &mut [f32]) -> io::Result<()> {
        let segment = |k: usize| {
            let at = |k: usize| k * values.len() / size;
            at(k % size)..at(k % size + 1)
        };
        let segments: Vec<Range<usize>> = (0..size).map(segment).collect();
        let blocks_of = |k: usize| blocks(&segments[k % size]);
        for block in blocks_of(rank) {
            self.send_values(&values[block])?;
        }
        let steps = 2 * (size - 1);
        for step in 0..steps {
            // The received segment is the one that is sent in the next step.
            let adds = step < size - 1;
            for block in blocks_of(rank + 2 * size - step - 1) {
                let mut received = self.receive(4 * block.len())?;
                for (own, bytes) in values[block].iter_mut().zip(received.chunks_exact_mut(4)) {
                    let value = f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
                    if adds {
                        *own += value;
                        bytes.copy_from_slice(&own.to_le_bytes());
                    } else {
                        *own = value;
                    }
                }
                if step + 1 < steps {
                    self.send(received)?;
                } else {
                    self.idle.push(received);
                }
            }
        }
        Ok(())
    }

    fn broadcast(
        &mut self,
        rank: usize,
        size: usize,
        bytes: &mut Vec<u8>,
        root: usize,
    ) -> io::Result<()> {
        let last = (rank + 1) % size == root;
        if rank == root {
            let mut length = self.block();
            length.extend((bytes.len() as u64).to_le_bytes());
            self.send(length)?;
            for part in bytes.chunks(4 * BLOCK) {
                let mut block = self.block();
                block.extend(part);
                self.send(block)?;
            }
            return Ok(());
        }
        let length = self.receive(8)?;
        let mut left = u64::from_le_bytes(length[..].try_into().expect("a length has eight bytes"));
        if !last {
            self.send(length)?;
        }
        bytes.clear();
        while left > 0 {
            let part = self.receive(left.min(4 * BLOCK as u64) as usize)?;
            left -= part.len() as u64;
            bytes.extend(&part);
            if !last {
                self.send(part)?;
            }
        }
        Ok(())
    }
}

/// The collective of a header.
fn describe_collective(header: &[u8]) -> String {
    let number = |at: usize| {
        let bytes = header[at..at + 8].try_into();
        u64::from_le_bytes(bytes.expect("a number has eight bytes"))
    };
    let (count, size) = (number(1), number(9));
    match header[0] {
        SUM => format!("runs collective {count}, a sum of {size} values"),
        BROADCAST => format!("runs collective {count}, a broadcast of rank {size}"),
        other => format!("runs collective {count} of the unknown kind {other}"),
    }
}

/// The blocks of a segment.
fn blocks(segment: &Range<usize>) -> impl Iterator<Item = Range<usize>> + use<> {
    let end = segment.end;
    let starts = segment.clone().step_by(BLOCK);
    starts.map(move |start| start..end.min(start + BLOCK))
}

impl ProcessGroup for Ring {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.hosts.len()
    }

    fn all_reduce(&self, values: &mut [f32]) -> spikelet_graph::Result<()> {
        let (rank, size) = (self.rank, self.hosts.len());
        self.run(|link| {
            link.compare_headers(SUM, values.len())?;
            link.all_reduce(rank, size, values)
        })
    }

    fn broadcast(&self, bytes: &mut Vec<u8>, root: usize) -> spikelet_graph::Result<()> {
        let (rank, size) = (self.rank, self.hosts.len());
        if root >= size {
            return Err(collective_error(format!(
                "there is no rank {root} among {size}"
            )));
        }
        self.run(|link| {
            link.compare_headers(BROADCAST, root)?;
            link.broadcast(rank, size, bytes, root)
        })
    }

    fn barrier(&self) -> spikelet_graph::Result<()> {
        // A sum is complete only after all ranks have added their values.
        self.all_reduce(&mut [1.0])
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        let Some(link) = self.link.take() else {
            return;
        };
        let mut link = link.into_inner().unwrap_or_else(PoisonError::into_inner);
        link.outgoing = None;
        if let Some(sender) = link.sender.take() {
            // A failed send has been reported by its collective.
            let _ = sender.join();
        }
    }
}

/// The error of a collective.
fn collective_error(problem: String) -> spikelet_graph::Error {
    spikelet_graph::Error::Backend {
        backend: "ranks".to_string(),
        problem,
    }
}
