//! Characters that nobody sees: a key that they split is only found without them.

const BLOCK_BYTES: usize = 64;

/// The text without terminal codes and characters of no width; `None` if it has none.
pub(super) fn without_invisible(text: &str) -> Option<String> {
    let may_be = |byte: u8| byte < 0x20 && !matches!(byte, b'\n' | b'\r' | b'\t') || byte >= 0x7f;
    // A block at a time, which is compiled to few instructions. Only in few blocks the characters are looked at.
    let in_block = |(at, block): (usize, &[u8])| {
        block.iter().fold(false, |seen, &byte| seen | may_be(byte)) && {
            let start = text.floor_char_boundary(at * BLOCK_BYTES);
            text[start..text.ceil_char_boundary(at * BLOCK_BYTES + block.len())].contains(is_invisible)
        }
    };
    if !text.as_bytes().chunks(BLOCK_BYTES).enumerate().any(in_block) {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let is_escape = c == '\u{1b}';
        if c == '\u{9b}' || is_escape && rest.next_if_eq(&'[').is_some() {
            while rest.next_if(|c| c.is_ascii_digit() || matches!(c, ';' | '?')).is_some() {}
            rest.next();
        } else if is_escape && rest.next_if_eq(&']').is_some() {
            // A title or a link, up to a bell or the next escape.
            while rest.next_if(|&c| c != '\u{7}' && c != '\u{1b}' && c != '\n').is_some() {}
        } else if !is_invisible(c) {
            out.push(c);
        }
    }
    Some(out)
}

fn is_invisible(c: char) -> bool {
    let is_control = c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    is_control
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}
