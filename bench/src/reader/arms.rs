//! What a reader is given: nothing, our brief, the brief of somebody else's project, the end of the last conversation, the
//! trivial quotes, or a text of another program. None has more tokens than our brief.

use std::collections::{BTreeMap, HashMap};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cerberus_agents::conversation::{self, PartKind};
use cerberus_record::id::fnv1a;
use cerberus_store::import::files;
use cerberus_text::tokens;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::cut;
use super::facts::GoldMoment;
use crate::continuity::Row;
use crate::programs::Programs;
use crate::quotes;
use crate::scratch::Scratch;
use crate::told;

pub const NOTHING: &str = "nothing";
pub const BRIEF: &str = "our brief";
pub const OTHER: &str = "the brief of another project";
pub const TAIL: &str = "the end of the last conversation";
pub const QUOTES: &str = "last four requests, ends of six messages";
pub const PEER: &str = "another program";
/// The baseline first, then ours.
pub const ARMS: [&str; 6] = [NOTHING, BRIEF, OTHER, TAIL, QUOTES, PEER];

/// The end of a message that counts as quoted.
const MESSAGE_END_CHARS: usize = 400;

/// The texts of one moment, by arm.
pub type Texts = BTreeMap<String, String>;

/// What was made of a moment's past by one program.
#[derive(Serialize, Deserialize)]
struct MadeLine {
    boundary: String,
    program: String,
    texts: Texts,
}

/// The texts of all moments. A text of another program is the file BOUNDARY.txt in a folder of the user's. What is made by
/// replaying is kept in a file, if there is one, and made again only for another program or another gold standard.
pub fn texts(
    programs: &Programs,
    data: &Path,
    gold: &[GoldMoment],
    peer: Option<&Path>,
    kept: Option<&Path>,
) -> Result<Vec<Texts>> {
    let of_program = fnv1a(&std::fs::read(&programs.cerberus)?) ^ fnv1a(&std::fs::read(data.join("gold.jsonl"))?);
    let of_program = format!("{of_program:016x}");
    let mut made = known(kept, &of_program)?;
    let mut people: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for gold in gold.iter().filter(|gold| !made.contains_key(&gold.boundary)) {
        people.entry(gold.person()).or_default().push(&gold.boundary);
    }
    let fitted = quotes::moments(data)?;
    for (person, boundaries) in people {
        let scratch = Scratch::new()?;
        let program = told::left_out(programs, &scratch, &fitted, person)?;
        told::at_boundaries(data, person, &boundaries, &program, &scratch, |place, replay, rows| {
            let args = ["brief", "--now", &rows.next.start];
            let brief: Value = scratch.json(&program, &replay.home, &args)?;
            let brief = brief["text"].as_str().unwrap_or_default();
            let texts = from_past(data, rows.past, brief)?;
            let (boundary, program) = (boundaries[place].to_string(), of_program.clone());
            let line = MadeLine { boundary, program, texts };
            if let Some(kept) = kept {
                let mut file = OpenOptions::new().append(true).create(true).open(kept)?;
                write!(file, "\n{}", serde_json::to_string(&line)?)?;
            }
            made.insert(line.boundary, line.texts);
            Ok(())
        })?;
    }
    let own = |gold: &GoldMoment| made.get(&gold.boundary).cloned().unwrap_or_default();
    let mut texts: Vec<Texts> = gold.iter().map(own).collect();
    add_others(gold, &mut texts);
    for (gold, texts) in gold.iter().zip(&mut texts) {
        let path = peer.map(|folder| folder.join(format!("{}.txt", gold.boundary)));
        if let Some(path) = path.filter(|path| path.is_file()) {
            let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            let length = tokens::estimate(&texts[BRIEF]);
            texts.insert(PEER.to_string(), cut::beginning(&text, length));
        }
    }
    Ok(texts)
}

/// What an interrupted run has made with the same program.
fn known(kept: Option<&Path>, program: &str) -> Result<HashMap<String, Texts>> {
    let Some(path) = kept.filter(|path| path.exists()) else { return Ok(HashMap::new()) };
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    // A run that was killed may have left half a line.
    let lines = text.lines().filter_map(|line| serde_json::from_str::<MadeLine>(line).ok());
    Ok(lines.filter(|line| line.program == program).map(|line| (line.boundary, line.texts)).collect())
}

/// Beside the answers.
pub fn kept_beside(answers: &Path) -> PathBuf {
    let mut name = answers.as_os_str().to_owned();
    name.push(".texts");
    name.into()
}

fn from_past(data: &Path, past: &[Row], brief: &str) -> Result<Texts> {
    let said = conversation_of(data, past)?;
    let length = tokens::estimate(brief);
    let texts = [
        (NOTHING, String::new()),
        (BRIEF, brief.to_string()),
        (TAIL, tail(&said, length)),
        (QUOTES, trivial(&said, length)),
    ];
    Ok(texts.map(|(arm, text)| (arm.to_string(), text)).into())
}

/// The brief of the next person's first moment: somebody else's project, and the same one however many moments are asked.
fn add_others(gold: &[GoldMoment], texts: &mut [Texts]) {
    let mut first: BTreeMap<&str, String> = BTreeMap::new();
    for (gold, texts) in gold.iter().zip(texts.iter()) {
        first.entry(gold.person()).or_insert_with(|| texts[BRIEF].clone());
    }
    for (gold, texts) in gold.iter().zip(texts.iter_mut()) {
        let after = first.range(gold.person()..).skip(1).chain(&first).map(|(person, brief)| (*person, brief));
        if let Some((_, brief)) = after.into_iter().find(|(person, _)| *person != gold.person()) {
            let brief = cut::beginning(brief, tokens::estimate(&texts[BRIEF]));
            texts.insert(OTHER.to_string(), brief);
        }
    }
}

/// The end of what was said, run and printed.
fn tail(said: &[(PartKind, String)], tokens_max: usize) -> String {
    let lines: Vec<&str> = said.iter().map(|(_, line)| line.as_str()).collect();
    cut::end(&lines.join("\n"), tokens_max)
}

/// The last four requests, and the ends of the last six messages.
fn trivial(said: &[(PartKind, String)], tokens_max: usize) -> String {
    let newest = |kind: PartKind, count: usize| -> Vec<usize> {
        let of_kind = said.iter().enumerate().filter(|(_, (one, _))| *one == kind);
        of_kind.rev().take(count).map(|(at, _)| at).collect()
    };
    let mut chosen = [newest(PartKind::Prompt, 4), newest(PartKind::Message, 6)].concat();
    chosen.sort_unstable();
    let lines: Vec<String> = chosen
        .into_iter()
        .map(|at| match said[at].0 {
            PartKind::Message => end_of_message(&said[at].1),
            _ => said[at].1.clone(),
        })
        .collect();
    cut::end(&lines.join("\n"), tokens_max)
}

/// What the last session said, with who said it.
fn conversation_of(data: &Path, past: &[Row]) -> Result<Vec<(PartKind, String)>> {
    for row in past.iter().rev() {
        let bytes = files::read(&data.join(&row.file)).with_context(|| row.file.clone())?;
        let lines = bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Value>(line).ok());
        let parts = lines.flat_map(|line| conversation::parts(&line));
        let said: Vec<(PartKind, String)> = parts
            .filter_map(|part| {
                let who = match part.kind {
                    PartKind::Prompt => "user",
                    PartKind::Message => "agent",
                    PartKind::Call => "ran",
                    PartKind::Output | PartKind::Error => "printed",
                    PartKind::Thought | PartKind::Note => return None,
                };
                Some((part.kind, format!("{who}: {}", part.text.trim())))
            })
            .collect();
        if !said.is_empty() {
            return Ok(said);
        }
    }
    Ok(Vec::new())
}

fn end_of_message(text: &str) -> String {
    let skipped = text.chars().count().saturating_sub(MESSAGE_END_CHARS);
    text.chars().skip(skipped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_project_is_that_of_another_person_and_no_longer() {
        let moment = |boundary: &str| -> GoldMoment {
            let gold = format!(r#"{{"boundary":"{boundary}","stopped":{{}},"open":[],"decisions":[]}}"#);
            serde_json::from_str(&gold).unwrap()
        };
        let gold = ["a-1", "a-2", "b-1"].map(moment);
        let briefs = ["work of a", "short", "the work of b, with many more words than the other one"];
        let mut texts = briefs.map(|brief| Texts::from([(BRIEF.to_string(), brief.to_string())]));
        add_others(&gold, &mut texts);
        assert_eq!(texts[2][OTHER], "work of a");
        for texts in &texts[..2] {
            assert!(briefs[2].starts_with(&texts[OTHER]) && !texts[OTHER].is_empty());
            assert!(tokens::estimate(&texts[OTHER]) <= tokens::estimate(&texts[BRIEF]));
        }
    }

    #[test]
    fn what_another_program_made_is_not_used_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = kept_beside(&folder.path().join("answers.jsonl"));
        let line = r#"{"boundary":"a-1","program":"1","texts":{"our brief":"x"}}"#;
        std::fs::write(&path, format!("\n{line}\n{{\"bound")).unwrap();
        assert_eq!(known(Some(&path), "1").unwrap()["a-1"][BRIEF], "x");
        assert!(known(Some(&path), "2").unwrap().is_empty());
        assert!(known(None, "1").unwrap().is_empty());
    }
}
