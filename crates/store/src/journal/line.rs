//! The format of a journal line: a record as JSON, then its format version, device, sequence number and checksum.
//!
//! `{…record…,"v":2,"device":"00010203ff050607","seq":1769088914000000,"crc":"01234567"}`. The fields after the record
//! are always written in this order, so that they are read without parsing the record. The first format had only the
//! checksum; the place of such a record follows from its segment and offset.

use cerberus_record::event::Record;
use cerberus_record::order::{DeviceId, Order};
use serde::Serialize;

/// The format this program writes. Records of a newer format are kept for programs that understand it.
pub const FORMAT: u32 = 2;

/// The length of the checksum at the end of a line.
pub const SEAL_BYTES: usize = ",\"crc\":\"01234567\"}".len();

/// The fields between the record and the checksum are shorter than this.
pub const STAMP_BYTES_MAX: usize = 96;

/// A complete line with a valid checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChecksummedLine<'a> {
    /// The whole line: one JSON object.
    pub json: &'a [u8],
    pub version: u32,
    /// Missing in the first format.
    pub order: Option<Order>,
    /// How much of the line is the record itself, without its closing brace.
    record_bytes: usize,
}

impl<'a> ChecksummedLine<'a> {
    /// The record; `None` if a newer version wrote it.
    pub fn record(&self) -> Option<Record<'a>> {
        if self.version > FORMAT { None } else { Record::read_json(self.json).ok() }
    }

    /// The JSON of the record alone, without its closing brace.
    pub fn open_record(&self) -> &'a [u8] {
        &self.json[..self.record_bytes]
    }
}

/// The line of a record, with a line break on either side.
pub fn encode(record: &Record, order: Order) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = Vec::with_capacity(1024);
    line.push(b'\n');
    record.write_json(&mut line)?;
    line.pop();
    Ok(finish(line, FORMAT, order))
}

/// The line of a record that is already JSON, without its closing brace.
pub fn encode_open(open_record: &[u8], version: u32, order: Order) -> Vec<u8> {
    let mut line = Vec::with_capacity(open_record.len() + STAMP_BYTES_MAX + SEAL_BYTES);
    line.push(b'\n');
    line.extend_from_slice(open_record);
    finish(line, version, order)
}

fn finish(mut line: Vec<u8>, version: u32, order: Order) -> Vec<u8> {
    let stamp = format!(",\"v\":{version},\"device\":\"{}\",\"seq\":{}", order.device, order.seq);
    line.extend_from_slice(stamp.as_bytes());
    seal_line(line)
}

/// Any object as a line with a checksum, as the loop's ledger writes them.
pub fn sealed_line<T: Serialize>(object: &T) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = Vec::with_capacity(1024);
    line.push(b'\n');
    serde_json::to_writer(&mut line, object)?;
    line.pop();
    Ok(seal_line(line))
}

fn seal_line(mut line: Vec<u8>) -> Vec<u8> {
    let seal = seal(&line[1..]);
    line.extend_from_slice(seal.as_bytes());
    line.push(b'\n');
    line
}

/// The end of a line with the bytes `body` before it.
pub fn seal(body: &[u8]) -> String {
    format!(",\"crc\":\"{:08x}\"}}", crc32fast::hash(body))
}

/// A line with a valid checksum; `None` if it is torn or damaged.
pub fn decode(line: &[u8]) -> Option<ChecksummedLine<'_>> {
    let (body, seal) = line.split_at_checked(line.len().checked_sub(SEAL_BYTES)?)?;
    let hex = seal.strip_prefix(b",\"crc\":\"")?.strip_suffix(b"\"}")?;
    let crc = u32::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()?;
    if crc32fast::hash(body) != crc {
        return None;
    }
    Some(match stamp(body) {
        Some((record_bytes, version, order)) => {
            ChecksummedLine { json: line, version, order: Some(order), record_bytes }
        }
        None => ChecksummedLine { json: line, version: 1, order: None, record_bytes: body.len() },
    })
}

/// The order in the last line of a segment, from its last bytes. `None` if that line is torn or in the first format.
pub fn last_order(end: &[u8]) -> Option<Order> {
    let line = end.strip_suffix(b"\n")?;
    stamp(&line[..line.len().checked_sub(SEAL_BYTES)?]).map(|(_, _, order)| order)
}

/// Reads the fields after the record: where they begin, and what they say. A record ends with a brace or a quotation
/// mark, so a digit at the end can only be a sequence number.
fn stamp(body: &[u8]) -> Option<(usize, u32, Order)> {
    if !body.last()?.is_ascii_digit() {
        return None;
    }
    let tail_start = body.len().saturating_sub(STAMP_BYTES_MAX);
    let tail = &body[tail_start..];
    let at = tail.windows(5).rposition(|window| window == b",\"v\":")?;
    let text = std::str::from_utf8(&tail[at..]).ok()?;
    let (version, rest) = text.strip_prefix(",\"v\":")?.split_once(",\"device\":\"")?;
    let (device, seq) = rest.split_once("\",\"seq\":")?;
    let order = Order { seq: seq.parse().ok()?, device: DeviceId::parse(device)? };
    Some((tail_start + at, version.parse().ok()?, order))
}

#[cfg(test)]
mod tests {
    use cerberus_record::clean::text::Clean;
    use cerberus_record::event::Event;

    use super::super::tests::record;
    use super::*;

    fn order(seq: u64) -> Order {
        Order { seq, device: DeviceId::from_bytes([1, 2, 3, 4, 5, 6, 7, 8]) }
    }

    fn inner(line: &[u8]) -> &[u8] {
        &line[1..line.len() - 1]
    }

    #[test]
    fn a_line_holds_the_record_its_version_and_its_place() {
        let line = encode(&record("one\n\"two\",\"v\":9"), order(77)).unwrap();
        let sealed = decode(inner(&line)).unwrap();
        assert_eq!((sealed.version, sealed.order), (FORMAT, Some(order(77))));
        assert_eq!(sealed.record(), Some(record("one\n\"two\",\"v\":9")));
        assert_eq!(last_order(&line), Some(order(77)));
        let again = encode_open(sealed.open_record(), sealed.version, order(77));
        assert_eq!(again, line);
    }

    #[test]
    fn a_line_of_the_first_format_carries_no_place() {
        for event in [Event::Pulse, Event::Prompt { text: Clean::word("seq 5") }] {
            let line = sealed_line(&Record { event, ..record("x") }).unwrap();
            let sealed = decode(inner(&line)).unwrap();
            assert_eq!((sealed.version, sealed.order), (1, None));
            assert!(sealed.record().is_some());
            assert_eq!(last_order(&line), None);
        }
    }

    #[test]
    fn a_newer_version_is_kept_but_not_read() {
        let line = encode(&record("x"), order(1)).unwrap();
        let open = decode(inner(&line)).unwrap().open_record();
        let newer = encode_open(open, FORMAT + 1, order(5));
        let sealed = decode(inner(&newer)).unwrap();
        assert_eq!((sealed.version, sealed.order, sealed.record()), (FORMAT + 1, Some(order(5)), None));
    }

    #[test]
    fn any_changed_byte_is_detected() {
        let line = encode(&record("x"), order(1)).unwrap();
        let line = inner(&line);
        assert!(decode(line).is_some());
        for at in 0..line.len() {
            let mut broken = line.to_vec();
            broken[at] ^= 1;
            assert!(decode(&broken).is_none(), "byte {at}");
            assert!(decode(&line[..at]).is_none(), "cut at {at}");
        }
    }
}
