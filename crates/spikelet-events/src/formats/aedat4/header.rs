//! The header of AEDAT 4: a flatbuffer with the compression, the position of the data table and an XML description of
//! the streams.

use super::flatbuffer::Table;
use crate::Sensor;

/// How packets are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Lz4,
    Zstandard,
}

pub(super) struct Header {
    pub compression: Compression,
    /// The position of the data table, where the packets end; `None`: at the end of the file.
    pub table: Option<u64>,
    /// The numbers of all streams.
    pub streams: Vec<i32>,
    /// The stream of events: that with the lowest number, if there are several.
    pub events: i32,
    /// The streams of triggers.
    pub triggers: Vec<i32>,
    pub sensor: Option<Sensor>,
}

impl Header {
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let root = Table::root(bytes, "IOHE")?;
        let compression = match root.i32(0)?.unwrap_or(0) {
            0 => Compression::None,
            1 | 2 => Compression::Lz4,
            3 | 4 => Compression::Zstandard,
            other => {
                return Err(format!(
                    "the compression {other}; 0 (none), 1 and 2 (LZ4), 3 and 4 (Zstandard) are known"
                ));
            }
        };
        let table = u64::try_from(root.i64(1)?.unwrap_or(-1)).ok();
        let xml = std::str::from_utf8(root.vector(2, 1)?);
        let xml =
            xml.map_err(|error| format!("the description of the streams is no text: {error}"))?;
        let streams = streams(xml)?;
        let events = streams.iter().filter(|stream| stream.kind == "EVTS");
        let Some(events) = events.min_by_key(|stream| stream.number) else {
            let found: Vec<_> = streams
                .iter()
                .map(|s| format!("{} {}", s.number, s.kind))
                .collect();
            return Err(format!(
                "no stream of events; its streams: {}",
                found.join(", ")
            ));
        };
        let numbers = |kind: &str| {
            let streams = streams.iter().filter(|stream| stream.kind == kind);
            streams.map(|stream| stream.number).collect()
        };
        Ok(Self {
            compression,
            table,
            streams: streams.iter().map(|stream| stream.number).collect(),
            triggers: numbers("TRIG"),
            events: events.number,
            sensor: events.sensor,
        })
    }
}

struct Stream {
    number: i32,
    /// `EVTS`, `FRME`, `IMUS`, `TRIG` and others.
    kind: String,
    sensor: Option<Sensor>,
}

/// The streams that the description has, at the node `outInfo`.
fn streams(xml: &str) -> Result<Vec<Stream>, String> {
    let document = roxmltree::Document::parse(xml.trim_end_matches('\0'));
    let document =
        document.map_err(|e| format!("the description of the streams is no XML: {e}"))?;
    let is_output = |node: &roxmltree::Node<'_, '_>| node.attribute("name") == Some("outInfo");
    let output = document.descendants().find(is_output);
    let output = output.ok_or("the description of the streams has no node `outInfo`")?;
    let streams = output.children().filter(|node| node.has_tag_name("node"));
    streams.map(stream).collect()
}

fn stream(node: roxmltree::Node<'_, '_>) -> Result<Stream, String> {
    let name = node.attribute("name").unwrap_or_default();
    let number = name.parse();
    let number = number.map_err(|_| format!("a stream is called `{name}`, not by a number"))?;
    let info = node
        .children()
        .find(|child| child.attribute("name") == Some("info"));
    let size = |key| attribute(info?, key)?.trim().parse().ok();
    let sensor = size("sizeX")
        .zip(size("sizeY"))
        .map(|(x, y)| Sensor::new(x, y));
    let kind = attribute(node, "typeIdentifier")
        .unwrap_or_default()
        .to_string();
    Ok(Stream {
        number,
        kind,
        sensor,
    })
}

/// The text of `<attr key="…">` in a node.
fn attribute<'a>(node: roxmltree::Node<'a, '_>, key: &str) -> Option<&'a str> {
    let is_key = |child: &roxmltree::Node<'_, '_>| child.attribute("key") == Some(key);
    node.children().find(is_key)?.text()
}
