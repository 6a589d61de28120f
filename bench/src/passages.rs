//! Whether a session is found by what was said in it: three rare words of a passage, by kind of passage, on transcripts
//! that you bring (Claude Code's, plain or gzipped, in any folders below `--data`).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cerberus_agents::claude_code;
use cerberus_agents::conversation::{Part, PartKind, parts};
use cerberus_store::import::files;
use serde_json::Value;

use crate::measure::{Target, Times, say, table};
use crate::programs::Programs;
use crate::scratch::Scratch;

const PER_KIND: usize = 40;
/// How many sessions of an answer are looked at.
pub const FIRST: usize = 5;
/// How many passages are tried to find so many that can be told apart.
const TRIED_MAX: usize = 2_000;
const WORDS: usize = 3;
const PASSAGE_CHARS: usize = 1_000;
pub const KINDS: [&str; 6] = ["prompt", "closing message", "message in mid-turn", "command", "error", "output"];

/// The sessions that have a word.
type SessionsWith = HashMap<String, BTreeSet<String>>;

/// The agent's name of a session, and a text of it.
type Said = (String, String);

pub fn run(programs: &Programs, data: &Path) -> Result<()> {
    let scratch = Scratch::new()?;
    let home = scratch.home("passages");
    let begun = Instant::now();
    let data = data.canonicalize()?;
    scratch.json(programs, &home, &["import", "claude-code", &data.to_string_lossy()])?;
    say(&format!("imported and archived in {:.1} s", begun.elapsed().as_secs_f64()))?;
    let (mut found, mut asked) = (BTreeMap::<&str, usize>::new(), BTreeMap::<&str, usize>::new());
    let mut times = Vec::new();
    for Question { kind, session, words } in questions(&data)? {
        let begun = Instant::now();
        let hits = scratch.json(programs, &home, &["search", &words])?;
        times.push(begun.elapsed());
        *asked.entry(kind).or_default() += 1;
        *found.entry(kind).or_default() += usize::from(is_among_first(programs, &scratch, &home, &hits, &session)?);
    }
    let row = |kind: &&str| {
        let (found, asked) = (found[kind], asked[kind]);
        vec![kind.to_string(), format!("{found} of {asked}"), Target::AtLeast(38.0).beside(found as f64)]
    };
    let rows: Vec<Vec<String>> = KINDS.iter().map(row).collect();
    table(&["three words of a", &format!("session in the first {FIRST}"), "target"], &rows)?;
    tell(programs, &scratch, &home, times)
}

/// Three words of a passage, and the session that they are from, as its agent names it.
pub struct Question {
    pub kind: &'static str,
    pub session: String,
    pub words: String,
}

/// The same questions in every run, by kind.
pub fn questions(data: &Path) -> Result<Vec<Question>> {
    let mut by_kind: BTreeMap<&str, Vec<Said>> = BTreeMap::new();
    let mut sessions_with = SessionsWith::new();
    for file in files::transcripts(claude_code::AGENT, data)? {
        read(&file, &mut by_kind, &mut sessions_with)?;
    }
    let mut dice = 0x9E37_79B9_7F4A_7C15_u64;
    let mut questions = Vec::new();
    for kind in KINDS {
        let all = by_kind.remove(kind).unwrap_or_default();
        ensure!(all.len() >= PER_KIND, "only {} of kind {kind}", all.len());
        let before = questions.len();
        for _ in 0..TRIED_MAX {
            if questions.len() == before + PER_KIND {
                break;
            }
            let (session, text) = &all[roll(&mut dice, all.len())];
            let Some(words) = rare_words(text, roll(&mut dice, text.len()), &sessions_with) else { continue };
            questions.push(Question { kind, session: session.clone(), words });
        }
    }
    Ok(questions)
}

fn tell(programs: &Programs, scratch: &Scratch, home: &Path, times: Vec<Duration>) -> Result<()> {
    let median = Times::new("search", times).median_ms();
    say(&format!("median of a search in a fresh process: {median:.1} ms, {}", Target::AtMost(50.0).beside(median)))?;
    say(&size(programs, scratch, home)?)
}

/// What the archive takes.
pub fn size(programs: &Programs, scratch: &Scratch, home: &Path) -> Result<String> {
    let status = scratch.json(programs, home, &["status"])?;
    let size = |key: &str| status["archive"][key].as_f64().unwrap_or_default();
    let share = size("index_bytes") / size("text_bytes").max(1.0) * 100.0;
    Ok(format!(
        "{:.1} MB of text in {:.1} MB; index {share:.1} % of the text, {}",
        size("text_bytes") / 1e6,
        size("bytes") / 1e6,
        Target::AtMost(35.0).beside(share)
    ))
}

/// Whether the session is one of the first that were found.
pub fn is_among_first(
    programs: &Programs,
    scratch: &Scratch,
    home: &Path,
    hits: &Value,
    session: &str,
) -> Result<bool> {
    let mut shown: Vec<&str> = Vec::new();
    for id in hits.as_array().context("a list of results")?.iter().filter_map(|hit| hit["session"].as_str()) {
        if !shown.contains(&id) {
            shown.push(id);
        }
    }
    for id in shown.into_iter().take(FIRST) {
        if scratch.json(programs, home, &["show", id])?["agent_session_id"] == session {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Collects what was said in a transcript, and in how many sessions each word is.
fn read(file: &Path, by_kind: &mut BTreeMap<&str, Vec<Said>>, sessions_with: &mut SessionsWith) -> Result<()> {
    let text = String::from_utf8_lossy(&files::read(file)?).into_owned();
    let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_slice(line.as_bytes()).ok()).collect();
    let Some(session) = lines.iter().find_map(|line| line["sessionId"].as_str()).map(str::to_string) else {
        return Ok(());
    };
    let own = lines.iter().filter(|line| line["isSidechain"] != true);
    let said: Vec<Part> = own.flat_map(parts).collect();
    let shells: BTreeSet<&str> = said
        .iter()
        .filter(|part| part.kind == PartKind::Call && part.tool.as_deref() == Some("Bash"))
        .filter_map(|part| part.call.as_deref())
        .collect();
    let mut seen = BTreeSet::new();
    for (at, part) in said.iter().enumerate() {
        let is_shell = part.call.as_deref().is_some_and(|call| shells.contains(call));
        let talk = |part: &&Part| matches!(part.kind, PartKind::Prompt | PartKind::Message);
        let kind = match part.kind {
            PartKind::Prompt if !part.text.starts_with('[') => "prompt",
            PartKind::Message => match said[at + 1..].iter().find(talk) {
                Some(next) if next.kind == PartKind::Message => "message in mid-turn",
                _ => "closing message",
            },
            PartKind::Call if is_shell => "command",
            PartKind::Error if is_shell => "error",
            PartKind::Output if is_shell => "output",
            _ => continue,
        };
        seen.extend(words(&part.text));
        if words(&part.text).collect::<BTreeSet<_>>().len() >= WORDS {
            by_kind.entry(kind).or_default().push((session.clone(), part.text.clone()));
        }
    }
    for word in seen {
        sessions_with.entry(word.to_lowercase()).or_default().insert(session.clone());
    }
    Ok(())
}

/// The words of a passage that the fewest sessions have; `None` if no answer could be right, because too many sessions have
/// all of them.
fn rare_words(text: &str, from: usize, sessions_with: &SessionsWith) -> Option<String> {
    let from = text.floor_char_boundary(from.min(text.len().saturating_sub(PASSAGE_CHARS)));
    let passage = &text[from..text.floor_char_boundary(from + PASSAGE_CHARS)];
    let mut found: Vec<&str> = words(passage).collect::<BTreeSet<_>>().into_iter().collect();
    if found.len() < WORDS {
        found = words(text).collect::<BTreeSet<_>>().into_iter().collect();
    }
    let having = |word: &str| sessions_with.get(&word.to_lowercase());
    // A word that the passage cuts in two is none.
    found.retain(|word| having(word).is_some());
    found.sort_by_key(|word| having(word).map_or(0, BTreeSet::len));
    found.truncate(WORDS);
    let (first, rest) = found.split_first().filter(|_| found.len() == WORDS)?;
    let has_all = |session: &&String| rest.iter().all(|word| having(word).is_some_and(|all| all.contains(*session)));
    let count = having(first)?.iter().filter(has_all).count();
    (count <= FIRST).then(|| found.join(" "))
}

/// Words of at least four letters, digits and low lines that begin with a letter.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let runs = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    runs.filter(|run| run.chars().count() > 3 && run.starts_with(char::is_alphabetic))
}

/// The next number below `limit`: the same in every run.
fn roll(dice: &mut u64, limit: usize) -> usize {
    *dice ^= *dice << 13;
    *dice ^= *dice >> 7;
    *dice ^= *dice << 17;
    (*dice % limit.max(1) as u64) as usize
}
