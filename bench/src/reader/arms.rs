//! What a reader is given: nothing, our brief, the brief of somebody else's project, the end of the last conversation, the
//! trivial quotes, or a text of another program. All are as long as our brief.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use cerberus_agents::conversation::{self, PartKind};
use cerberus_store::import::files;
use serde_json::Value;

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
pub type Texts = BTreeMap<&'static str, String>;

/// The texts of all moments. A text of another program is the file BOUNDARY.txt in a folder of the user's.
pub fn texts(programs: &Programs, data: &Path, gold: &[GoldMoment], peer: Option<&Path>) -> Result<Vec<Texts>> {
    let fitted = quotes::moments(data)?;
    let mut people: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    gold.iter().enumerate().for_each(|(number, gold)| people.entry(gold.person()).or_default().push(number));
    let mut texts = vec![Texts::new(); gold.len()];
    for (person, numbers) in &people {
        let scratch = Scratch::new()?;
        let program = told::left_out(programs, &scratch, &fitted, person)?;
        let boundaries: Vec<&str> = numbers.iter().map(|number| gold[*number].boundary.as_str()).collect();
        told::at_boundaries(data, person, &boundaries, &program, &scratch, |place, replay, rows| {
            let args = ["brief", "--now", &rows.next.start];
            let brief: Value = scratch.json(&program, &replay.home, &args)?;
            let brief = brief["text"].as_str().unwrap_or_default().to_string();
            let length = brief.chars().count();
            let all = &mut texts[numbers[place]];
            all.insert(NOTHING, String::new());
            all.insert(TAIL, tail(data, rows.past, length)?);
            all.insert(QUOTES, trivial(data, rows.past, length)?);
            all.insert(BRIEF, brief);
            Ok(())
        })?;
    }
    // Somebody else's project, not another moment of this one.
    let briefs: Vec<(&str, String)> = gold
        .iter()
        .zip(&texts)
        .map(|(gold, texts)| (gold.person(), texts.get(BRIEF).cloned().unwrap_or_default()))
        .collect();
    for (number, texts) in texts.iter_mut().enumerate() {
        let after = briefs[number..].iter().chain(&briefs[..number]);
        let other = after.into_iter().find(|(person, _)| *person != briefs[number].0);
        other.into_iter().for_each(|(_, brief)| drop(texts.insert(OTHER, brief.clone())));
        let peers = peer.map(|folder| folder.join(format!("{}.txt", gold[number].boundary)));
        if let Some(peers) = peers.filter(|path| path.is_file()) {
            let length = briefs[number].1.chars().count();
            let text = std::fs::read_to_string(&peers).with_context(|| peers.display().to_string())?;
            texts.insert(PEER, text.chars().take(length).collect());
        }
    }
    Ok(texts)
}

/// The last characters of what was said, run and printed.
fn tail(data: &Path, past: &[Row], chars: usize) -> Result<String> {
    let said: Vec<String> = conversation_of(data, past)?.into_iter().map(|(_, line)| line).collect();
    Ok(end_of(&said.join("\n"), chars))
}

/// The last four requests, and the ends of the last six messages.
fn trivial(data: &Path, past: &[Row], chars: usize) -> Result<String> {
    let all = conversation_of(data, past)?;
    let newest = |kind: PartKind, count: usize| -> Vec<usize> {
        let of_kind = all.iter().enumerate().filter(|(_, (one, _))| *one == kind);
        of_kind.rev().take(count).map(|(at, _)| at).collect()
    };
    let mut chosen = [newest(PartKind::Prompt, 4), newest(PartKind::Message, 6)].concat();
    chosen.sort_unstable();
    let lines: Vec<String> = chosen
        .into_iter()
        .map(|at| match all[at].0 {
            PartKind::Message => end_of(&all[at].1, MESSAGE_END_CHARS),
            _ => all[at].1.clone(),
        })
        .collect();
    Ok(end_of(&lines.join("\n"), chars))
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

fn end_of(text: &str, chars: usize) -> String {
    let skipped = text.chars().count().saturating_sub(chars);
    text.chars().skip(skipped).collect()
}
