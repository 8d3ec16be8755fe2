//! TensorBoard's `Event` messages in protobuf's wire format: the required fields.
//!
//! ```text
//! Event     1 wall_time: double  2 step: int64  3 file_version: string  5 summary: Summary
//! Summary   1 value: repeated Value
//! Value     1 tag: string  2 simple_value: float  4 image: Image  5 histo: HistogramProto
//! Image     1 height  2 width  3 colorspace: int32  4 encoded_image_string: bytes
//! Histogram 1 min  2 max  3 num  4 sum  5 sum_squares: double  6 bucket_limit  7 bucket: packed double
//! ```

const VARINT: u64 = 0;
const EIGHT_BYTES: u64 = 1;
const WITH_LENGTH: u64 = 2;
const FOUR_BYTES: u64 = 5;

/// A message under construction.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn key(&mut self, field: u64, kind: u64) {
        self.varint(field << 3 | kind);
    }

    #[must_use]
    fn integer(mut self, field: u64, value: u64) -> Self {
        self.key(field, VARINT);
        self.varint(value);
        self
    }

    #[must_use]
    fn double(mut self, field: u64, value: f64) -> Self {
        self.key(field, EIGHT_BYTES);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    #[must_use]
    fn float(mut self, field: u64, value: f32) -> Self {
        self.key(field, FOUR_BYTES);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    #[must_use]
    fn bytes(mut self, field: u64, value: &[u8]) -> Self {
        self.key(field, WITH_LENGTH);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }

    #[must_use]
    fn doubles(self, field: u64, values: &[f64]) -> Self {
        let packed: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        self.bytes(field, &packed)
    }
}

/// The first event of every file.
pub(super) fn version(wall_time: f64) -> Vec<u8> {
    Message::default()
        .double(1, wall_time)
        .bytes(3, b"brain.Event:2")
        .0
}

fn summary(wall_time: f64, step: u64, value: Message) -> Vec<u8> {
    let summary = Message::default().bytes(1, &value.0);
    Message::default()
        .double(1, wall_time)
        .integer(2, step)
        .bytes(5, &summary.0)
        .0
}

pub(super) fn scalar(wall_time: f64, step: u64, tag: &str, value: f32) -> Vec<u8> {
    let value = Message::default().bytes(1, tag.as_bytes()).float(2, value);
    summary(wall_time, step, value)
}

pub(super) fn image(
    wall_time: f64,
    step: u64,
    tag: &str,
    png: &[u8],
    [height, width]: [u32; 2],
) -> Vec<u8> {
    // TensorBoard decodes the image itself; "3" (RGB) is the value that its own writers store.
    let image = Message::default()
        .integer(1, u64::from(height))
        .integer(2, u64::from(width))
        .integer(3, 3)
        .bytes(4, png);
    let value = Message::default()
        .bytes(1, tag.as_bytes())
        .bytes(4, &image.0);
    summary(wall_time, step, value)
}

/// A histogram of the finite `values` in equally wide buckets.
pub(super) fn histogram(wall_time: f64, step: u64, tag: &str, values: &[f32]) -> Vec<u8> {
    const BUCKETS: usize = 30;
    let values = || {
        values
            .iter()
            .map(|&value| f64::from(value))
            .filter(|value| value.is_finite())
    };
    let count = values().count();
    let (mut low, mut high) = (
        values().fold(f64::INFINITY, f64::min),
        values().fold(f64::NEG_INFINITY, f64::max),
    );
    if count == 0 {
        (low, high) = (0.0, 0.0);
    }
    let width = (high - low) / BUCKETS as f64;
    let (limits, counts) = if width > 0.0 {
        let mut counts = vec![0.0; BUCKETS];
        // A value that equals the largest belongs to the last bucket.
        values().for_each(|value| {
            counts[(((value - low) / width) as usize).min(BUCKETS - 1)] += 1.0;
        });
        let limits = (1..=BUCKETS).map(|bucket| low + width * bucket as f64);
        (limits.collect(), counts)
    } else {
        (vec![high], vec![count as f64])
    };
    let histogram = Message::default()
        .double(1, low)
        .double(2, high)
        .double(3, count as f64)
        .double(4, values().sum())
        .double(5, values().map(|value| value * value).sum())
        .doubles(6, &limits)
        .doubles(7, &counts);
    let value = Message::default()
        .bytes(1, tag.as_bytes())
        .bytes(5, &histogram.0);
    summary(wall_time, step, value)
}

/// A field of a message: its number and its content.
#[derive(Debug, PartialEq)]
pub(super) enum Field<'a> {
    Integer(u64, u64),
    Fixed(u64, &'a [u8]),
    Bytes(u64, &'a [u8]),
}

/// The fields of a message in order, up to the first that is not protobuf.
pub(super) fn fields(mut message: &[u8]) -> impl Iterator<Item = Field<'_>> {
    std::iter::from_fn(move || {
        let key = read_varint(&mut message)?;
        let field = key >> 3;
        Some(match key & 7 {
            EIGHT_BYTES => Field::Fixed(field, read_bytes(&mut message, 8)?),
            FOUR_BYTES => Field::Fixed(field, read_bytes(&mut message, 4)?),
            VARINT => Field::Integer(field, read_varint(&mut message)?),
            WITH_LENGTH => {
                let length = read_varint(&mut message)?;
                Field::Bytes(field, read_bytes(&mut message, length)?)
            }
            _ => return None,
        })
    })
}

fn read_bytes<'a>(bytes: &mut &'a [u8], length: u64) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(usize::try_from(length).ok()?)?;
    *bytes = rest;
    Some(taken)
}

fn read_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// The step of an event; zero, protobuf's default, where none is written.
pub(super) fn step(event: &[u8]) -> u64 {
    fields(event)
        .find_map(|field| match field {
            Field::Integer(2, step) => Some(step),
            _ => None,
        })
        .unwrap_or(0)
}

/// The tag of an event's first value; empty if it has none.
pub(super) fn tag(event: &[u8]) -> &str {
    let inside = |message, number| {
        fields(message).find_map(|field| match field {
            Field::Bytes(n, bytes) if n == number => Some(bytes),
            _ => None,
        })
    };
    let tag = inside(event, 5)
        .and_then(|summary| inside(summary, 1))
        .and_then(|value| inside(value, 1));
    tag.and_then(|tag| std::str::from_utf8(tag).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scalar_event_is_these_bytes() {
        let event = scalar(1.5, 300, "a", 0.25);
        let expected: &[u8] = &[
            0x09, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f, // wall_time 1.5
            0x10, 0xac, 0x02, // step 300
            0x2a, 10, 0x0a, 8, // summary, value
            0x0a, 1, b'a', 0x15, 0, 0, 0x80, 0x3e, // tag, simple_value
        ];
        assert_eq!(event, expected);
        assert_eq!(step(&event), 300);
    }

    #[test]
    fn integers_of_every_length_come_back() {
        for value in [
            0,
            1,
            127,
            128,
            16_383,
            16_384,
            u64::from(u32::MAX),
            u64::MAX,
        ] {
            let message = Message::default().integer(2, value).0;
            assert_eq!(step(&message), value);
        }
    }

    #[test]
    fn bytes_that_are_not_protobuf_end_the_fields() {
        assert_eq!(fields(&[0xff; 11]).count(), 0);
        assert_eq!(fields(&[0x0a, 5, 1]).count(), 0);
        assert_eq!(fields(&[0x10, 7, 0x0b]).count(), 1);
    }

    fn buckets(values: &[f32]) -> Vec<f64> {
        let event = histogram(0.0, 1, "h", values);
        let inside = |message, wanted| {
            fields(message)
                .find_map(|field| match field {
                    Field::Bytes(number, bytes) if number == wanted => Some(bytes),
                    _ => None,
                })
                .unwrap()
        };
        let proto = inside(inside(inside(&event, 5), 1), 5);
        inside(proto, 7)
            .chunks(8)
            .map(|chunk| f64::from_le_bytes(chunk.try_into().unwrap()))
            .collect()
    }

    #[test]
    fn a_histogram_counts_every_finite_value_once() {
        let values: Vec<f32> = (0..=60).map(|i| i as f32).collect();
        let counts = buckets(&values);
        assert_eq!(counts.len(), 30);
        assert_eq!(counts.iter().sum::<f64>(), 61.0);
        assert_eq!((counts[0], counts[29]), (2.0, 3.0));
        assert_eq!(buckets(&[2.0, 2.0, f32::NAN]), [2.0]);
        assert_eq!(buckets(&[]), [0.0]);
    }
}
