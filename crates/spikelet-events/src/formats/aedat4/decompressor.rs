//! The contents of packets.

use std::io::{self, Cursor, Read};

use lz4_flex::frame::FrameDecoder;
use ruzstd::decoding::StreamingDecoder;

use super::header::Compression;

/// The most bytes of a packet, compressed and not: four million events. Cameras write packets of some milliseconds.
pub(super) const MAX_PACKET: usize = 64 << 20;

/// How many times larger than its bytes a packet may be. Events compress to a tenth at best.
const MAX_EXPANSION: usize = 1024;

/// Decompresses packets one after the other; its memory is used again.
pub(super) struct Decompressor {
    lz4: FrameDecoder<Cursor<Vec<u8>>>,
    /// The flatbuffer of a packet.
    content: Vec<u8>,
}

impl Default for Decompressor {
    fn default() -> Self {
        Self {
            lz4: FrameDecoder::new(Cursor::default()),
            content: vec![],
        }
    }
}

impl Decompressor {
    /// The flatbuffer of a packet.
    pub fn content<'a>(
        &'a mut self,
        compression: Compression,
        packet: &'a [u8],
    ) -> Result<&'a [u8], String> {
        match compression {
            Compression::None => return plain(packet),
            Compression::Lz4 => {
                let source = self.lz4.get_mut();
                source.set_position(0);
                source.get_mut().clear();
                source.get_mut().extend_from_slice(packet);
                unpack(&mut self.lz4, packet.len(), &mut self.content)?;
            }
            Compression::Zstandard => {
                let stream = StreamingDecoder::new(packet);
                let stream = stream.map_err(|error| format!("no Zstandard frame: {error}"))?;
                unpack(stream, packet.len(), &mut self.content)?;
            }
        }
        Ok(&self.content)
    }
}

/// The flatbuffer of a packet that is not compressed.
fn plain(packet: &[u8]) -> Result<&[u8], String> {
    let content = packet.split_first_chunk();
    let (prefix, content) = content.ok_or_else(|| format!("it has {} bytes", packet.len()))?;
    let (claim, len) = (u32::from_le_bytes(*prefix) as usize, content.len());
    match claim == len {
        true => Ok(content),
        false => Err(format!(
            "its content has {len} bytes, not the {claim} that it announces"
        )),
    }
}

/// Reads the length and the flatbuffer of a compressed packet of `len` bytes.
fn unpack(mut stream: impl Read, len: usize, content: &mut Vec<u8>) -> Result<(), String> {
    let failed = |error: io::Error| format!("it cannot be decompressed: {error}");
    let mut prefix = [0; 4];
    stream.read_exact(&mut prefix).map_err(failed)?;
    let claim = u32::from_le_bytes(prefix) as usize;
    if claim > MAX_PACKET.min(4096 + len.saturating_mul(MAX_EXPANSION)) {
        return Err(format!(
            "its {len} bytes claim to have a content of {claim} bytes"
        ));
    }
    content.clear();
    let read = stream.by_ref().take(claim as u64).read_to_end(content);
    let read = read.map_err(failed)?;
    if read < claim {
        return Err(format!(
            "its content has {read} of the {claim} bytes that it announces"
        ));
    }
    match stream.read(&mut [0]).map_err(failed)? {
        0 => Ok(()),
        _ => Err(format!(
            "its content has more than the {claim} bytes that it announces"
        )),
    }
}
