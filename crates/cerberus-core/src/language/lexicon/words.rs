//! The words of a text in any language. The build script includes this file.

pub fn is_ideograph(c: char) -> bool {
    matches!(u32::from(c), 0x3040..=0x30ff | 0x3400..=0x9fff | 0xac00..=0xd7af)
}

/// The words of a text in lower case. Numbers become `0`. In scripts without blanks every character is a word.
pub fn tokens(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let end = |word: &mut String, words: &mut Vec<String>| {
        if !word.is_empty() {
            words.push(std::mem::take(word));
        }
    };
    for c in text.chars().flat_map(char::to_lowercase) {
        match c {
            '’' => word.push('\''),
            c if is_ideograph(c) => {
                end(&mut word, &mut words);
                words.push(c.to_string());
            }
            c if c.is_numeric() => {
                if !word.ends_with('0') {
                    word.push('0');
                }
            }
            c if c.is_alphabetic() || matches!(c, '\'' | '_') => word.push(c),
            c => {
                end(&mut word, &mut words);
                if matches!(c, '?' | '!' | ':' | '`' | '？') {
                    words.push(c.to_string());
                }
            }
        }
    }
    end(&mut word, &mut words);
    words
}
