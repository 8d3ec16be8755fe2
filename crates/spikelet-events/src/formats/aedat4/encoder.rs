//! Writes AEDAT 4 with one stream of events, LZ4 or not compressed, and without a data table.

use std::io::Write;

use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};

use super::{EVENT, MAGIC};
use crate::error::Result;
use crate::formats::{Encoder, Events, Unwritable};
use crate::{Sensor, WriteOptions};

/// The events of a packet.
const PACKET: usize = 8192;

/// The length and the flatbuffer before the events, whose number follows: root table at 16, identifier, list of fields at
/// 10, and the vector at 24.
const FLATBUFFER: &[u8] = b"\x10\0\0\0EVTS\0\0\x06\0\x08\0\x04\0\x06\0\0\0\x04\0\0\0";

pub(super) fn new(options: &WriteOptions, out: &mut Vec<u8>) -> Result<Box<dyn Encoder>> {
    options.check_sensor(Sensor::new(1 << 15, 1 << 15))?;
    let compress = options.compress;
    let xml = description(options.sensor, if compress { "LZ4" } else { "NONE" });
    // The root table at 24, its list of fields at 14: compression at 4 in the table, position of the data table at 12,
    // description at 8, which is at 48.
    let mut header = b"\x18\0\0\0IOHE\0\0\0\0\0\0\x0a\0\x18\0\x04\0\x0c\0\x08\0\x0a\0\0\0".to_vec();
    header.extend(u32::from(compress).to_le_bytes());
    header.extend(16_u32.to_le_bytes());
    header.extend((-1_i64).to_le_bytes());
    header.extend([0; 4]);
    header.extend((xml.len() as u32).to_le_bytes());
    header.extend(xml.as_bytes());
    header.push(0);
    header.resize(header.len().next_multiple_of(4), 0);
    out.extend_from_slice(MAGIC);
    out.extend((header.len() as u32).to_le_bytes());
    out.extend(header);
    let content = vec![];
    Ok(Box::new(Aedat4Encoder { compress, content }))
}

fn description(sensor: Sensor, compression: &str) -> String {
    let Sensor { width, height, .. } = sensor;
    format!(
        r#"<dv version="2.0">
    <node name="outInfo" path="/outInfo/">
        <node name="0" path="/outInfo/0/">
            <attr key="compression" type="string">{compression}</attr>
            <attr key="originalModuleName" type="string">spikelet</attr>
            <attr key="originalOutputName" type="string">events</attr>
            <attr key="typeDescription" type="string">Array of events (polarity ON/OFF).</attr>
            <attr key="typeIdentifier" type="string">EVTS</attr>
            <node name="info" path="/outInfo/0/info/">
                <attr key="sizeX" type="int">{width}</attr>
                <attr key="sizeY" type="int">{height}</attr>
                <attr key="source" type="string">spikelet</attr>
            </node>
        </node>
    </node>
</dv>
"#
    )
}

struct Aedat4Encoder {
    compress: bool,
    /// The content of a packet.
    content: Vec<u8>,
}

impl Encoder for Aedat4Encoder {
    fn encode(&mut self, events: Events<'_>, out: &mut Vec<u8>) -> Result<(), Unwritable> {
        let count = events.t.len();
        for start in (0..count).step_by(PACKET) {
            self.packet(events.part(start..count.min(start + PACKET)), out);
        }
        Ok(())
    }
}

impl Aedat4Encoder {
    fn packet(&mut self, events: Events<'_>, out: &mut Vec<u8>) {
        let count = events.t.len();
        let content = &mut self.content;
        content.clear();
        let len = FLATBUFFER.len() + 4 + count * EVENT;
        content.extend((len as u32).to_le_bytes());
        content.extend_from_slice(FLATBUFFER);
        content.extend((count as u32).to_le_bytes());
        for (t, x, y, p) in events.iter() {
            content.extend(t.to_le_bytes());
            content.extend(x.to_le_bytes());
            content.extend(y.to_le_bytes());
            content.extend([p, 0, 0, 0]);
        }
        out.extend(0_u32.to_le_bytes());
        let size_at = out.len();
        out.extend([0; 4]);
        if self.compress {
            let info = FrameInfo::new()
                .block_size(BlockSize::Max256KB)
                .block_mode(BlockMode::Independent);
            let mut encoder = FrameEncoder::with_frame_info(info, &mut *out);
            let written = encoder
                .write_all(content)
                .map_err(lz4_flex::frame::Error::from);
            let finished = written.and_then(|()| encoder.finish().map(drop));
            finished.expect("writing to a vector does not fail");
        } else {
            out.extend_from_slice(content);
        }
        let size = (out.len() - size_at - 4) as u32;
        out[size_at..size_at + 4].copy_from_slice(&size.to_le_bytes());
    }
}
