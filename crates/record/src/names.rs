//! A cheap scan for names defined in new text: line by line, no grammar, no regex. It runs in the hook.
//!
//! It reads the text as encoded in JSON, with escapes, so that nothing is copied. It finds definitions at the start of
//! a line and misses the rest; it does not analyse them. What follows the name must be what follows a name in code, so that
//! prose, as in "function as a service", defines nothing.

use memchr::memchr;

use crate::clean::Cleaner;
use crate::clean::text::{Clean, Keep};

/// Anything longer is not a name that somebody wrote.
const NAME_BYTES_MAX: usize = 100;

/// Appends the names defined in `escaped` (the inside of a JSON string) to `names`, each once, `names_max` in all.
pub fn scan<'a>(cleaner: &Cleaner, escaped: &'a str, names_max: usize, names: &mut Vec<Clean<'a>>) {
    let mut rest = escaped;
    while names.len() < names_max {
        if may_define(rest.as_bytes())
            && let Some(name) = defined(rest)
        {
            let name = cleaner.clean(name, Keep::NAME);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        match next_line(rest) {
            Some(next) => rest = next,
            None => return,
        }
    }
}

/// The text after the next escaped line break.
fn next_line(mut text: &str) -> Option<&str> {
    loop {
        let escape = memchr(b'\\', text.as_bytes())?;
        let escaped = text.as_bytes().get(escape + 1)?;
        text = text.get(escape + 2..).unwrap_or_default();
        if *escaped == b'n' {
            return Some(text);
        }
    }
}

/// What a word at the beginning of a line announces.
enum NameWord {
    Name,
    /// A modifier: the next word decides.
    More,
}

macro_rules! announcing {
    (names: $($name:literal)*; more: $($more:literal)*) => {
        fn announced(word: &str) -> Option<NameWord> {
            match word {
                $($name)|* => Some(NameWord::Name),
                $($more)|* => Some(NameWord::More),
                _ => None,
            }
        }

        /// For each first letter, the second letters of such words, as bits.
        static SECONDS: [u32; 26] = {
            let words = [$($name,)* $($more,)*];
            let mut seconds = [0; 26];
            let mut at = 0;
            while at < words.len() {
                let word = words[at].as_bytes();
                seconds[(word[0] - b'a') as usize] |= 1 << (word[1] - b'a');
                at += 1;
            }
            seconds
        };
    };
}

announcing! {
    names: "fn" "def" "func" "function" "fun" "sub" "class" "struct" "enum" "trait" "interface" "module" "object";
    more: "pub" "async" "export" "default" "static" "public" "private" "protected" "internal" "final" "abstract"
        "override" "unsafe" "const" "inline" "virtual" "declare" "open" "sealed" "data" "partial" "suspend"
}

/// Whether a line may define something, by the first two letters of its first word. Rules out most lines of code.
fn may_define(line: &[u8]) -> bool {
    match line[indent(line)..].first_chunk() {
        Some(b"\\t") => true,
        Some(letters) => may_announce(*letters),
        None => false,
    }
}

fn may_announce([first, second]: [u8; 2]) -> bool {
    let seconds = SECONDS.get(usize::from(first.wrapping_sub(b'a'))).copied().unwrap_or_default();
    second.is_ascii_lowercase() && seconds & 1 << (second - b'a') != 0
}

/// The number of spaces at the beginning, eight at a time.
fn indent(line: &[u8]) -> usize {
    const SPACES: u64 = u64::from_ne_bytes([b' '; 8]);
    let (words, rest) = line.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let differences = u64::from_le_bytes(*word) ^ SPACES;
        if differences != 0 {
            return 8 * index + differences.trailing_zeros() as usize / 8;
        }
    }
    8 * words.len() + rest.iter().take_while(|byte| **byte == b' ').count()
}

/// The name defined by the first line of `text`, which may be escaped or not.
pub fn defined(text: &str) -> Option<&str> {
    let mut rest = skip_indent(text);
    // `pub(crate) async fn`: a few modifiers at most, each perhaps with an argument in parentheses.
    for _ in 0..5 {
        if !may_announce(*rest.as_bytes().first_chunk()?) {
            return None;
        }
        let (word, after) = word(rest);
        match announced(word)? {
            NameWord::Name => return name_after(after),
            NameWord::More => {}
        }
        rest = skip_parentheses(after).trim_start_matches(' ');
        if word == "const"
            && let Some(name) = arrow_function(rest)
        {
            return Some(name);
        }
    }
    None
}

fn skip_indent(mut text: &str) -> &str {
    loop {
        text = &text[indent(text.as_bytes())..];
        match text.strip_prefix("\\t").or(text.strip_prefix('\t')) {
            Some(after) => text = after,
            None => return text,
        }
    }
}

/// The first word, and the rest.
fn word(text: &str) -> (&str, &str) {
    let end = text.bytes().position(|byte| !(byte.is_ascii_alphanumeric() || byte == b'_')).unwrap_or(text.len());
    text.split_at(end)
}

fn skip_parentheses(text: &str) -> &str {
    match text.strip_prefix('(').and_then(|inside| inside.split_once([')', '\\'])) {
        Some((_, after)) => after,
        None => text,
    }
}

/// `fn name`, and Go's `func (r *Receiver) name`.
fn name_after(text: &str) -> Option<&str> {
    let text = text.strip_prefix([' ', '*'])?.trim_start_matches(' ');
    let text = skip_parentheses(text).trim_start_matches(' ');
    let end = text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$'))).unwrap_or(text.len());
    let name = &text[..end];
    let begins_well = name.chars().next().is_some_and(|c| c.is_alphabetic() || matches!(c, '_' | '$'));
    (begins_well && name.len() <= NAME_BYTES_MAX && may_follow(&text[end..])).then_some(name)
}

/// Whether a line of code goes on like this after a name. Another word follows only if the line opens or ends something.
fn may_follow(after: &str) -> bool {
    match after.trim_start_matches(' ').bytes().next() {
        Some(byte) if byte.is_ascii_alphanumeric() => {
            let line = line_of(after);
            line.ends_with(['{', '(', ';', '}', '>']) || line.ends_with(" do")
        }
        Some(b',') => false,
        Some(b'.') => line_of(after).len() > 1,
        _ => true,
    }
}

/// The text up to the next escaped line break.
fn line_of(text: &str) -> &str {
    let line = next_line(text).map_or(text, |next| &text[..text.len() - next.len() - 2]);
    line.trim_end()
}

/// `name = (a) => …`, `name: Type = async function …`, after `const`.
fn arrow_function(rest: &str) -> Option<&str> {
    let end = rest.bytes().position(|byte| byte == b'\\').unwrap_or(rest.len());
    let (name, value) = rest[..end].split_once('=')?;
    let name = name.split(':').next()?.trim_end();
    let is_function = value.contains("=>") || value.contains("function");
    let is_plain =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$'));
    (is_function && is_plain && name.len() <= NAME_BYTES_MAX).then_some(name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::clean::BUILT_IN;

    #[test]
    fn names_what_a_line_defines() {
        for (line, expected) in [
            ("fn main() {", Some("main")),
            ("    pub(crate) async fn load<T>(x: T) {", Some("load")),
            ("def cluster_corrections(self):", Some("cluster_corrections")),
            ("\\t\\tasync def go():", Some("go")),
            ("func (s *Supervisor) Process() error {", Some("Process")),
            ("func Load(path string) {", Some("Load")),
            ("export default function App() {", Some("App")),
            ("function* gen() {", Some("gen")),
            ("export const useThing = (a) => {", Some("useThing")),
            ("const handler: Handler = async (a) => {", Some("handler")),
            ("const LIMIT = 5;", None),
            ("class SessionContextCapture:", Some("SessionContextCapture")),
            ("public static final class Foo<T> {", Some("Foo")),
            ("pub struct Größe {", Some("Größe")),
            ("def empty?", Some("empty")),
            ("fun main() {", Some("main")),
            ("the function of this", None),
            ("// fn commented()", None),
            ("default:", None),
            ("fn", None),
            ("fn 9lives", None),
            ("class: foo", None),
            ("", None),
            (r"pub(crate\nfn broken", None),
            ("\tfn tabbed() {", Some("tabbed")),
            ("class Foo extends Bar {", Some("Foo")),
            ("class Foo < Bar", Some("Foo")),
            (r"def open do\n  x", Some("open")),
            ("function foo", Some("foo")),
            ("function as a service", None),
            ("class as such, however, is", None),
            ("function as, of, and.", None),
            ("interface as follows:", None),
            (r"sub as in subject\nfoo {", None),
            ("module as.", None),
        ] {
            assert_eq!(defined(line), expected, "{line}");
        }
    }

    #[test]
    fn each_name_once_and_not_too_many() {
        let mut names = Vec::new();
        scan(
            &BUILT_IN,
            r#"fn a() {}\nlet x = \"\\nfn no\";\nfn b() {}\nfn a() {}\nfn c() {}\nfn d() {}\n"#,
            3,
            &mut names,
        );
        assert_eq!(names.iter().map(|name| &**name).collect::<Vec<_>>(), ["a", "b", "c"]);
    }

    proptest! {
        #[test]
        fn the_quick_look_rules_out_nothing_that_is_defined(
            line in "( {0,20}|(\\\\t){0,3})(pub |pub\\(crate\\) |async |export |sealed )?(fn|def|class|enum|sub|let|self) ?[a-zé]{0,4}\\PC{0,9}",
        ) {
            prop_assert_eq!(indent(line.as_bytes()), line.len() - line.trim_start_matches(' ').len());
            prop_assert!(may_define(line.as_bytes()) || defined(&line).is_none(), "{}", line);
        }

        #[test]
        fn any_text_is_accepted(text in "\\PC*|((fn|def|const|pub)[ (\\\\]\\PC{0,30}\\\\n)*") {
            let mut names = Vec::new();
            scan(&BUILT_IN, &text, 64, &mut names);
            prop_assert!(names.iter().all(|name| !name.contains(char::is_control)));
        }
    }
}
