//! The files that a command edits, deletes or stages, as far as its words say.

use cerberus_record::shell::{SimpleCommand, joined};

use super::Act;
use super::args::{Args, base};

/// A path as seen from where the line begins, and what is done to it.
pub fn touched(command: &SimpleCommand, stages: &[Vec<&str>]) -> Vec<(String, Act)> {
    let mut found: Vec<(String, Act)> = command.outputs.iter().map(|path| (path.clone(), Act::Edit)).collect();
    for words in stages {
        for (path, act) in by_words(words) {
            found.push((joined(&command.folder, path.trim_end_matches('/')), act));
        }
    }
    found.retain(|(path, _)| !path.is_empty() && !path.contains('$'));
    found
}

fn by_words<'a>(words: &[&'a str]) -> Vec<(&'a str, Act)> {
    let Some(program) = words.first().map(|word| base(word)) else { return Vec::new() };
    let args = Args::read(words);
    let all = || args.words.iter().map(|(_, word)| *word);
    let each = |act: Act| all().map(|word| (word, act)).collect::<Vec<_>>();
    match program {
        "tee" | "touch" | "truncate" | "sponge" => each(Act::Edit),
        "rm" | "unlink" | "shred" | "rmdir" | "trash" => each(Act::Delete),
        "sed" if args.has("in-place", Some('i')) => {
            let has_script = args.has("expression", Some('e')) || args.has("file", Some('f'));
            all().skip(usize::from(!has_script)).map(|word| (word, Act::Edit)).collect()
        }
        "perl" if args.has("", Some('i')) => each(Act::Edit),
        "cp" | "install" | "ln" | "rsync" => all().skip(1).last().map(|word| (word, Act::Edit)).into_iter().collect(),
        "mv" => {
            let mut moved = each(Act::Delete);
            if let Some(last) = moved.last_mut() {
                last.1 = Act::Edit;
            }
            moved
        }
        "dd" => words.iter().filter_map(|word| Some((word.strip_prefix("of=")?, Act::Edit))).collect(),
        "find" if words.contains(&"-delete") => {
            let below = words[1..].iter().take_while(|word| !word.starts_with(['-', '(', '!']));
            below.map(|word| (*word, Act::Delete)).collect()
        }
        "git" => {
            let act = match args.sub() {
                "rm" => Act::Delete,
                "add" | "stage" | "commit" => Act::Commit,
                _ => return Vec::new(),
            };
            all().skip(1).map(|word| (word, act)).collect()
        }
        _ => Vec::new(),
    }
}
