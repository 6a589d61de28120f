//! Sorts the tables of words, so that the program builds none when it starts. And hands a hash of these sources to the
//! build script of the engine, which is part of the view's version: through cargo and not through a path, because in a
//! registry the engine's sources are not beside these.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

#[allow(dead_code)]
#[path = "src/language/stem.rs"]
mod stem;
#[allow(dead_code)]
#[path = "src/language/vocabulary.rs"]
mod vocabulary;
#[path = "src/language/lexicon/words.rs"]
mod words;

use stem::{SHAPED_CHARS_MIN, Shape, stem};
use vocabulary::Entry;
use words::{is_ideograph, tokens};

/// The languages of the lexicon, in their order there.
const LANGUAGES: [&str; 11] = ["en", "es", "pt", "fr", "de", "it", "pl", "ru", "ja", "zh", "ko"];

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=src");
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    add(Path::new("src"), &mut hash)?;
    println!("cargo::metadata=sources={hash:016x}");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("no OUT_DIR"))?);
    fs::write(out.join("phrases.txt"), phrases())?;
    fs::write(out.join("spellings.txt"), spellings())?;
    let mut frequent: BTreeMap<String, u16> = BTreeMap::new();
    for (place, name) in LANGUAGES.into_iter().enumerate() {
        let text = fs::read_to_string(format!("src/language/lexicon/{name}.txt"))?;
        frequent_words(&text).for_each(|word| *frequent.entry(word.to_string()).or_default() |= 1 << place);
        let all = concepts(&text).filter(|(words, _)| !words.is_empty());
        let (open, closed): (Vec<_>, Vec<_>) = all.partition(|(words, _)| words[0].ends_with('*'));
        fs::write(out.join(format!("{name}.open.txt")), lines(open))?;
        fs::write(out.join(format!("{name}.phrases.txt")), sorted(closed, |_| 0))?;
    }
    let frequent = frequent.into_iter().map(|(word, languages)| (vec![word], languages));
    fs::write(out.join("frequent.txt"), lines(frequent))
}

/// Phrases of instructions as stems, each with the place of its table; longer ones first.
fn phrases() -> String {
    let mut all = Vec::new();
    for (place, (list, _)) in (0..).map_while(|place| Some((place, vocabulary::table(place)?))) {
        let phrases = list.split('|').map(|words| words.split_whitespace().map(stem).collect::<Vec<String>>());
        all.extend(phrases.filter(|stems| !stems.is_empty()).map(|stems| (stems, place)));
    }
    sorted(all, Vec::len)
}

/// The longer words of concepts by their initial: the place of the table and the shape, also of their stems.
fn spellings() -> String {
    let mut all = Vec::new();
    for (place, (list, entry)) in (0..).map_while(|place| Some((place, vocabulary::table(place)?))) {
        if !matches!(entry, Entry::Concept(_) | Entry::Opposite(_)) {
            continue;
        }
        let long = list.split('|').filter(|word| word.chars().count() >= SHAPED_CHARS_MIN && !word.contains(' '));
        for shape in long.flat_map(|word| [Shape::of(word), Shape::of(&stem(word))]) {
            all.push((
                vec![shape.initial().to_string()],
                format!("{place} {}", shape.triples.iter().flatten().collect::<String>()),
            ));
        }
    }
    sorted(all, |_| 0)
}

/// The line of the most frequent words.
const WORDS: &str = "words";

/// By which a language is recognized.
fn frequent_words(text: &str) -> impl Iterator<Item = &str> {
    let list = text.lines().find_map(|line| line.strip_prefix(WORDS)?.strip_prefix(": "));
    list.into_iter().flat_map(|list| list.split('|').map(str::trim))
}

/// All phrases of a language, each with its concept.
fn concepts(text: &str) -> impl Iterator<Item = (Vec<String>, &str)> {
    let concepts = text.lines().filter_map(|line| line.split_once(": ")).filter(|(concept, _)| *concept != WORDS);
    concepts.flat_map(|(concept, list)| list.split('|').map(move |phrase| (phrase_words(phrase.trim()), concept)))
}

/// The words of a phrase as `tokens` gives them. The last one may be only a beginning.
fn phrase_words(phrase: &str) -> Vec<String> {
    let is_plain = |c: char| c.is_lowercase() && !is_ideograph(c) || matches!(c, ' ' | '\'' | '*');
    if phrase.chars().all(is_plain) {
        return phrase.split_whitespace().map(str::to_string).collect();
    }
    let mut words = tokens(phrase.trim_end_matches('*'));
    if let Some(last) = words.last_mut().filter(|_| phrase.ends_with('*')) {
        last.push('*');
    }
    words
}

/// Lines sorted by their first word. Of those with the same one, the weightiest come first; the order is otherwise
/// kept.
fn sorted<T: ToString>(mut all: Vec<(Vec<String>, T)>, weight: impl Fn(&Vec<String>) -> usize) -> String {
    all.sort_by(|(a, _), (b, _)| a[0].cmp(&b[0]).then(Reverse(weight(a)).cmp(&Reverse(weight(b)))));
    lines(all)
}

fn lines<T: ToString>(all: impl IntoIterator<Item = (Vec<String>, T)>) -> String {
    all.into_iter().map(|(words, value)| format!("{}\t{}\n", words.join(" "), value.to_string())).collect()
}

/// FNV-1a over the names and bytes of all files, in the order of their names.
fn add(path: &Path, hash: &mut u64) -> io::Result<()> {
    if path.is_dir() {
        let mut entries: Vec<_> =
            fs::read_dir(path)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
        entries.sort();
        return entries.iter().try_for_each(|entry| add(entry, hash));
    }
    let name = path.to_string_lossy().into_owned().into_bytes();
    for byte in name.iter().chain(&fs::read(path)?) {
        *hash = (*hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    Ok(())
}
