//! Values as bytes, for what is stored only to be read back quickly: first all texts, one per line, then the numbers, of
//! seven bits per byte, among them the lengths of the texts. So all texts are known to be valid at once.
//!
//! Every reader returns `None` for bytes that no writer wrote, and never reserves more than the bytes can hold.

/// Writes values one after another.
#[derive(Debug, Default)]
pub struct Packer {
    bytes: Vec<u8>,
    texts: String,
}

impl Packer {
    /// Everything that was written.
    pub fn packed(self) -> Vec<u8> {
        let mut all = Packer::default();
        all.number(self.texts.len() as u64);
        all.bytes.extend_from_slice(self.texts.as_bytes());
        all.bytes.extend_from_slice(&self.bytes);
        all.bytes
    }

    pub fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    /// Small negative numbers stay short too.
    pub fn signed(&mut self, number: i64) {
        self.number(((number << 1) ^ (number >> 63)) as u64);
    }

    /// A number that is usually large: always eight bytes.
    pub fn whole(&mut self, number: u64) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    pub fn flag(&mut self, flag: bool) {
        self.bytes.push(flag.into());
    }

    pub fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.texts.push_str(text);
        self.texts.push('\n');
    }

    pub fn option<T>(&mut self, value: Option<T>, pack: impl FnOnce(&mut Packer, T)) {
        self.flag(value.is_some());
        if let Some(value) = value {
            pack(self, value);
        }
    }

    pub fn list<T>(&mut self, values: &[T], mut pack: impl FnMut(&mut Packer, &T)) {
        self.number(values.len() as u64);
        values.iter().for_each(|value| pack(self, value));
    }

    /// One of `all`, by its place.
    pub fn place<T: PartialEq>(&mut self, all: &[T], value: T) {
        self.number(all.iter().position(|one| *one == value).unwrap_or(all.len()) as u64);
    }
}

/// Reads the values in the same order.
#[derive(Debug)]
pub struct Unpacker<'a> {
    rest: &'a [u8],
    texts: &'a str,
}

impl<'a> Unpacker<'a> {
    pub fn new(packed: &'a [u8]) -> Option<Unpacker<'a>> {
        let mut all = Unpacker { rest: packed, texts: "" };
        let length = all.count()?;
        let (texts, rest) = all.rest.split_at_checked(length)?;
        Some(Unpacker { rest, texts: std::str::from_utf8(texts).ok()? })
    }

    pub fn number(&mut self) -> Option<u64> {
        // Nearly all numbers are lengths of short texts.
        if let Some((byte @ 0..0x80, rest)) = self.rest.split_first() {
            self.rest = rest;
            return Some(u64::from(*byte));
        }
        self.long_number()
    }

    fn long_number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    pub fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    pub fn whole(&mut self) -> Option<u64> {
        let (bytes, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(u64::from_le_bytes(*bytes))
    }

    pub fn count(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    pub fn flag(&mut self) -> Option<bool> {
        match self.number()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    pub fn text(&mut self) -> Option<&'a str> {
        let length = self.count()?;
        let (text, rest) = self.texts.split_at_checked(length)?;
        self.texts = rest.strip_prefix('\n')?;
        Some(text)
    }

    pub fn string(&mut self) -> Option<String> {
        self.text().map(str::to_string)
    }

    pub fn skip_text(&mut self) -> Option<()> {
        self.text().map(|_| ())
    }

    /// Passes over a list.
    pub fn skip_list<T>(&mut self, mut skip: impl FnMut(&mut Unpacker<'a>) -> Option<T>) -> Option<()> {
        for _ in 0..self.count()? {
            skip(self)?;
        }
        Some(())
    }

    pub fn option<T>(&mut self, unpack: impl FnOnce(&mut Unpacker<'a>) -> Option<T>) -> Option<Option<T>> {
        match self.flag()? {
            true => unpack(self).map(Some),
            false => Some(None),
        }
    }

    pub fn list<T>(&mut self, mut unpack: impl FnMut(&mut Unpacker<'a>) -> Option<T>) -> Option<Vec<T>> {
        let count = self.count()?;
        // Every value takes a byte at least.
        let mut values = Vec::with_capacity(count.min(self.rest.len()));
        for _ in 0..count {
            values.push(unpack(self)?);
        }
        Some(values)
    }

    pub fn place<T: Copy>(&mut self, all: &[T]) -> Option<T> {
        all.get(self.count()?).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_written() {
        for number in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut packer = Packer::default();
            packer.number(number);
            packer.signed(number as i64);
            packer.signed(-(number as i64 / 2));
            let packed = packer.packed();
            let mut unpacker = Unpacker::new(&packed).unwrap();
            let read = (unpacker.number(), unpacker.signed(), unpacker.signed());
            assert_eq!(read, (Some(number), Some(number as i64), Some(-(number as i64 / 2))));
            assert!(unpacker.rest.is_empty());
        }
    }

    #[test]
    fn texts_are_read_as_written() {
        let mut packer = Packer::default();
        let texts = ["", "a\nb", "größer", "\n"];
        packer.list(&texts, |packer, text| packer.text(text));
        packer.list(&texts, |packer, text| packer.text(text));
        packer.text("end");
        let packed = packer.packed();
        let mut unpacker = Unpacker::new(&packed).unwrap();
        assert_eq!(unpacker.list(Unpacker::text).unwrap(), texts);
        assert_eq!(unpacker.skip_list(Unpacker::skip_text), Some(()));
        assert_eq!(unpacker.string().as_deref(), Some("end"));
        assert!(unpacker.rest.is_empty() && unpacker.texts.is_empty());
    }

    #[test]
    fn a_length_is_not_believed() {
        let mut packer = Packer::default();
        packer.text("größer");
        for (wrong, start) in [(u64::MAX, 0), (3, 0), (7, 0)] {
            let mut other = Packer { texts: packer.texts.clone(), ..Packer::default() };
            other.number(wrong);
            let packed = other.packed();
            let unpacker = || Unpacker::new(&packed[start..]).unwrap();
            assert_eq!((unpacker().text(), unpacker().skip_text()), (None, None), "{wrong}");
            assert_eq!(unpacker().list(|unpacker| unpacker.whole()), None);
            assert_eq!(unpacker().skip_list(|unpacker| unpacker.whole()), None);
        }
        assert!(Unpacker::new(&[0x80; 12]).is_none() && Unpacker::new(&[2, b'a']).is_none());
        assert!(Unpacker::new(&[2, 0xff, 0xff]).is_none());
        assert_eq!(Unpacker { rest: &[2], texts: "" }.flag(), None);
    }
}
