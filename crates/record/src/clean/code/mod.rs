//! Codes that people type: for pairing, and for recovery. Letters and digits that cannot be mistaken for each other, in
//! groups, with a check of the whole, by which they are recognised and redacted in any text.

mod hash;

use self::hash::sha256;

/// Crockford's alphabet: no I, L, O, U.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const GROUP_CHARS: usize = 5;
const CHECK_BYTES: usize = 2;
pub const SECRET_BYTES: usize = 16;
const SPACE_BYTES: usize = 8;
const LENGTH: usize = SPACE_BYTES + SECRET_BYTES + CHECK_BYTES;
/// How many digits a code has.
const DIGITS: usize = (LENGTH * 8).div_ceil(5);

/// What a code says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// The space, as it is named on the hub.
    pub space: String,
    pub secret: [u8; SECRET_BYTES],
}

impl Code {
    /// `None` if the space has no such name.
    pub fn written(&self) -> Option<String> {
        let space = from_hex(&self.space)?;
        let bytes = [space.as_slice(), &self.secret].concat();
        let check = &sha256(&bytes)[..CHECK_BYTES];
        let digits = base32(&[&bytes, check].concat());
        let groups: Vec<&str> =
            digits.as_bytes().chunks(GROUP_CHARS).filter_map(|group| std::str::from_utf8(group).ok()).collect();
        Some(groups.join("-"))
    }

    /// Reads a code as people type it: in any case, with spaces, with `O` for `0`.
    pub fn read(text: &str) -> Option<Code> {
        let bytes = from_base32(text.get(..text.len().min(200))?, LENGTH)?;
        let (bytes, check) = bytes.split_at_checked(SPACE_BYTES + SECRET_BYTES)?;
        let (space, secret) = bytes.split_at_checked(SPACE_BYTES)?;
        if sha256(bytes)[..CHECK_BYTES] != *check {
            return None;
        }
        Some(Code { space: space.iter().map(|byte| format!("{byte:02x}")).collect(), secret: secret.try_into().ok()? })
    }
}

/// The end of the code that begins at `at` in a text, if one does. `at` is where a word begins.
pub(super) fn code_end(text: &[u8], at: usize) -> Option<usize> {
    let is_separator = |byte: &u8| matches!(byte, b'-' | b' ');
    let group = *text.get(at + GROUP_CHARS)?;
    let is_grouped = is_separator(&group) && text.get(at + 2 * GROUP_CHARS + 1) == Some(&group);
    // Most words are ruled out by what stands where the code would end.
    let stop = at + DIGITS + if is_grouped { (DIGITS - 1) / GROUP_CHARS } else { 0 };
    if text.get(stop).is_some_and(u8::is_ascii_alphanumeric) {
        return None;
    }
    let (mut end, mut digits) = (at, 0);
    while digits < DIGITS {
        let byte = text.get(end)?;
        match byte {
            byte if byte.is_ascii_alphanumeric() => digits += 1,
            byte if is_grouped && is_separator(byte) && digits % GROUP_CHARS == 0 => {}
            _ => return None,
        }
        end += 1;
    }
    let is_whole = !text.get(end).is_some_and(u8::is_ascii_alphanumeric);
    let code = std::str::from_utf8(&text[at..end]).ok().filter(|_| is_whole)?;
    Code::read(code).map(|_| end)
}

/// The bytes of a space's name.
fn from_hex(text: &str) -> Option<[u8; SPACE_BYTES]> {
    let mut bytes = [0; SPACE_BYTES];
    if text.len() != 2 * SPACE_BYTES || !text.is_ascii() {
        return None;
    }
    for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(bytes)
}

fn base32(bytes: &[u8]) -> String {
    let (mut text, mut bits, mut held) = (String::new(), 0_u32, 0_u32);
    for byte in bytes {
        held = (held << 8) | u32::from(*byte);
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            text.push(char::from(ALPHABET[(held >> bits) as usize & 31]));
        }
    }
    if bits > 0 {
        text.push(char::from(ALPHABET[(held << (5 - bits)) as usize & 31]));
    }
    text
}

fn from_base32(text: &str, length: usize) -> Option<Vec<u8>> {
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0_u32, 0_u32);
    let typed = text.bytes().filter(|byte| !matches!(byte, b'-' | b' ' | b'\t' | b'\r' | b'\n'));
    let mut digits = 0;
    for byte in typed {
        let byte = match byte.to_ascii_lowercase() {
            b'o' => b'0',
            b'i' | b'l' => b'1',
            other => other,
        };
        let value = ALPHABET.iter().position(|digit| *digit == byte)? as u32;
        held = ((held << 5) | value) & 0xfff;
        bits += 5;
        digits += 1;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
        }
    }
    (bytes.len() == length && digits == DIGITS).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_as_people_type_it() {
        let code = Code { space: "00112233445566ff".to_string(), secret: [0xa5; SECRET_BYTES] };
        let written = code.written().unwrap();
        assert_eq!(Code::read(&written), Some(code.clone()));
        let typed = format!(" {} ", written.to_uppercase().replace('-', " ").replace('0', "O"));
        assert_eq!(Code::read(&typed), Some(code));
    }

    #[test]
    fn a_code_is_found_in_a_text_by_its_check() {
        let written = Code { space: "00112233445566ff".to_string(), secret: [0x3c; SECRET_BYTES] }.written().unwrap();
        for typed in [written.clone(), written.to_uppercase(), written.replace('-', " "), written.replace('-', "")] {
            let text = format!("{typed}, thanks");
            assert_eq!(code_end(text.as_bytes(), 0), Some(typed.len()), "{typed}");
            assert_eq!(code_end(format!("{typed}9").as_bytes(), 0), None);
        }
        assert_eq!(code_end(written.replace('3', "4").as_bytes(), 0), None);
    }

    #[test]
    fn a_mistyped_code_is_refused() {
        let written = Code { space: "00112233445566ff".to_string(), secret: [7; SECRET_BYTES] }.written().unwrap();
        for at in (0..written.len()).filter(|at| written.as_bytes()[*at] != b'-') {
            let mut typed = written.clone().into_bytes();
            typed[at] = if typed[at] == b'7' { b'8' } else { b'7' };
            // The last digit holds bits that are not used.
            if at + 1 < written.len() {
                assert_eq!(Code::read(&String::from_utf8(typed).unwrap()), None, "digit {at}");
            }
        }
        for wrong in ["", "abc", "é", &written[1..], &format!("{written}0"), &"u".repeat(60), &"é".repeat(300)] {
            assert_eq!(Code::read(wrong), None, "{wrong}");
        }
    }
}
