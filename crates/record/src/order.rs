//! The one order of all records, and the device that wrote each of them.
//!
//! Every record carries its place: a sequence number that only grows, and the id of the device. A record that is
//! rewritten keeps its place, wherever in the journal its bytes then are. Nothing derives order from file positions,
//! except for records of the first format, which carried none.

use std::fmt;

use super::id::fnv1a;

/// A device that writes records: one home on one machine. Random, so that no two devices share one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceId(u64);

impl DeviceId {
    /// The length of its written form.
    pub const CHARS: usize = 16;

    pub const fn from_bytes(bytes: [u8; 8]) -> DeviceId {
        DeviceId(u64::from_be_bytes(bytes))
    }

    /// Reads the written form: sixteen hexadecimal digits.
    pub fn parse(text: &str) -> Option<DeviceId> {
        let is_hex = text.len() == DeviceId::CHARS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_hex { u64::from_str_radix(text, 16).ok().map(DeviceId) } else { None }
    }
}

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The place of a record among all records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Order {
    /// Microseconds since the epoch when it was written, or one more than the previous record's, whichever is greater.
    pub seq: u64,
    pub device: DeviceId,
}

/// Leaves room in a rank to distinguish records with the same sequence number, and lasts beyond the year 2200.
const SEQ_MAX: u64 = (1 << 53) - 1;
const TIE_BITS: u32 = 10;

impl Order {
    /// The next sequence number. It follows the clock but is always greater than the last one.
    pub fn next_seq(wall_micros: u64, last_seq: Option<u64>) -> u64 {
        let after_last = last_seq.map_or(0, |last| last.saturating_add(1));
        wall_micros.max(after_last).min(SEQ_MAX)
    }

    /// The sequence number in a place that was made a single number by [`Order::rank`].
    pub fn seq_of(rank: i64) -> u64 {
        rank as u64 >> TIE_BITS
    }

    /// The place as a single number. Two devices, or two processes in the same microsecond, may use the same sequence
    /// number. `name`, which identifies the event, then decides, the same way on every device.
    pub fn rank(self, name: &[&str]) -> i64 {
        let mut bytes = self.device.0.to_be_bytes().to_vec();
        for part in name {
            bytes.extend_from_slice(part.as_bytes());
            bytes.push(0);
        }
        let tie = fnv1a(&bytes) & ((1 << TIE_BITS) - 1);
        ((self.seq.min(SEQ_MAX) << TIE_BITS) | tie) as i64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_sequence_follows_the_clock_and_never_goes_back() {
        for (wall, last, next) in [
            (1_000, None, 1_000),
            (1_000, Some(10), 1_000),
            (1_000, Some(1_000), 1_001),
            (1_000, Some(5_000), 5_001),
            (u64::MAX, None, SEQ_MAX),
            (0, Some(u64::MAX), SEQ_MAX),
        ] {
            assert_eq!(Order::next_seq(wall, last), next);
        }
    }

    #[test]
    fn a_device_reads_back_what_it_writes_and_nothing_else() {
        let device = DeviceId::from_bytes([0, 1, 2, 3, 0xff, 5, 6, 7]);
        assert_eq!(device.to_string(), "00010203ff050607");
        assert_eq!(DeviceId::parse("00010203ff050607"), Some(device));
        for wrong in ["", "00010203ff05060", "00010203ff0506071", "+0010203ff050607", "g0010203ff050607"] {
            assert_eq!(DeviceId::parse(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn ranks_follow_sequence_numbers(a in 0..SEQ_MAX, b in 0..SEQ_MAX, name in ".*", other in ".*") {
            let rank = |seq, name: &str| Order { seq, device: DeviceId::default() }.rank(&[name]);
            prop_assert!(rank(a, &name) >= 0);
            if a != b {
                prop_assert_eq!(rank(a, &name) < rank(b, &other), a < b);
            }
            prop_assert_eq!(rank(a, &name), rank(a, &name));
        }
    }
}
