//! A file is about to be edited that a rule, a decision or an abandoned change is about.
//!
//! Nearly always it is not, and a hook before an edit must find that out without the view. So the start of a session notes
//! in a small file what such texts cite, as hashes; an edit of anything else ends there.

use std::collections::HashSet;
use std::io;
use std::path::Path;

use cerberus_agents::action::Action;
use cerberus_agents::before::Before;
use cerberus_os::home::Home;
use cerberus_recall::brief::memories::{MemoryCandidate, MemoryRequest, choose};
use cerberus_recall::brief::{BriefLine, MemoryItem, open_decisions};
use cerberus_recall::learn::guide::GuideLines;
use cerberus_recall::moments::edit::{self, Naming};
use cerberus_recall::moments::live::covers;
use cerberus_recall::moments::told;
use cerberus_record::id::fnv1a;
use cerberus_record::memory::Scope;
use cerberus_record::session::CARRY_OVER;

use crate::brief::remember::retain_applicable;
use crate::brief::subject::View;
use crate::project::identity::{self, Located};
use crate::project::tracked;
use crate::view::{self, CarriedFacts, FactFilter, MemoryRow, SessionRow, TakeBack};

/// A line has 34 bytes: the hash of a folder and of a word.
const NOTED_BYTES_MAX: u64 = 34 * 2_048;
/// More words of one project are not noted.
const WORDS_MAX: usize = 256;
const RULES_MAX: usize = 200;

/// What may be told before an edit.
struct KnownTexts {
    rules: Vec<MemoryRow>,
    decisions: Vec<BriefLine>,
    taken_back: Vec<TakeBack>,
}

impl KnownTexts {
    /// What these sessions left.
    fn read(view: &View, sessions: &[SessionRow], carried: &CarriedFacts) -> view::Result<KnownTexts> {
        let View { store, joined, now, .. } = *view;
        let mut scopes = joined.scopes();
        scopes.push(Scope::Universal.to_string());
        let mut rules = store.memories_in(&scopes, RULES_MAX, now)?;
        retain_applicable(&mut rules, joined);
        let mut decisions = open_decisions(&carried.facts, &carried.settlements);
        // An answer to a question is rarely about the file that the question names.
        decisions.retain(|item| !item.text.contains(" → "));
        let taken_back = store.take_backs(sessions, now)?;
        Ok(KnownTexts { rules, decisions, taken_back })
    }

    fn cited(&self) -> HashSet<String> {
        let rules = self.rules.iter().map(|row| &*row.memory.content);
        let said = rules.chain(self.decisions.iter().map(|item| item.text.as_str()));
        let mut words: HashSet<String> = said.flat_map(edit::cited).map(str::to_string).collect();
        let sweeps = self.taken_back.iter().flat_map(|back| edit::taken_back(&back.command));
        words.extend(sweeps.filter_map(|sweep| sweep.paths).flatten().map(|path| {
            let path = path.trim_start_matches("./");
            // A pattern, or a folder without its slash, covers files that it does not name.
            if edit::cited(path) == [path] { path.to_string() } else { String::new() }
        }));
        words.remove("");
        words
    }
}

fn hash(text: &[u8]) -> String {
    format!("{:016x}", fnv1a(text))
}

fn root_hash(root: &Path) -> String {
    hash(root.as_os_str().as_encoded_bytes())
}

/// Whether anything is noted. All that most hooks ask.
pub fn is_any_noted(home: &Home) -> bool {
    home.noted().exists()
}

/// Notes what the texts about this project cite.
pub fn note(home: &Home, view: &View, sessions: &[SessionRow], carried: &CarriedFacts) -> view::Result<()> {
    let mut words: Vec<String> = KnownTexts::read(view, sessions, carried)?.cited().into_iter().collect();
    words.sort_unstable();
    words.truncate(WORDS_MAX);
    // Without the note, nothing is told: that is no reason to fail.
    let _ = replace(home, &view.located.root, &words);
    Ok(())
}

fn replace(home: &Home, root: &Path, words: &[String]) -> io::Result<()> {
    let root = root_hash(root);
    let before = home.text(&home.noted(), NOTED_BYTES_MAX).unwrap_or_default();
    let own: String = words.iter().map(|word| format!("{root} {}\n", hash(word.as_bytes()))).collect();
    let others: String =
        before.lines().filter(|line| !line.starts_with(&root)).map(|line| format!("{line}\n")).collect();
    let mut text = own + &others;
    // What is oldest is at the end.
    text.truncate(text.len().min(NOTED_BYTES_MAX as usize / 34 * 34));
    match text == before {
        true => Ok(()),
        false if text.is_empty() => std::fs::remove_file(home.noted()),
        false => home.replace(&home.noted(), text.as_bytes()),
    }
}

/// The first of the files that are about to be edited that something may be known about.
pub fn noted_file(home: &Home, before: &Before, located: &Located) -> Option<String> {
    let Action::Write(files) = &before.action else { return None };
    let noted = home.text(&home.noted(), NOTED_BYTES_MAX).ok()?;
    let root = root_hash(&located.root);
    let known: HashSet<&str> =
        noted.lines().filter_map(|line| line.strip_prefix(root.as_str())?.strip_prefix(' ')).collect();
    if known.is_empty() {
        return None;
    }
    let paths = files.iter().map(|file| identity::relative(located, Path::new(&before.cwd), &file.path));
    { paths }.find(|path| edit::forms(path).iter().any(|(form, _)| known.contains(hash(form.as_bytes()).as_str())))
}

/// What is told before an edit, and how its receipt names it.
#[derive(Debug, Default)]
pub struct EditTold {
    pub text: String,
    pub codes: Vec<String>,
    pub memories: Vec<MemoryItem>,
}

struct EditLine {
    line: String,
    code: Option<String>,
    memory: Option<MemoryItem>,
}

/// What is known about a file, once per session. `None` if it is nothing.
pub fn told(view: &View, session: &SessionRow, path: &str) -> view::Result<Option<EditTold>> {
    let code = told::edit_code(path);
    if view.store.told_codes(session, view.now)?.contains(&code) || view.store.privacy_rules().is_private(path) {
        return Ok(None);
    }
    let View { store, joined, now, .. } = *view;
    // It knows its own words.
    let mut others = store.newest_sessions(&joined.ids, now.minus(CARRY_OVER), now)?;
    others.retain(|other| other.state.status.carries_over() && other.row != session.row);
    let known = KnownTexts::read(view, &others, &store.carried(&others, FactFilter::Words, now)?)?;
    let is_about = |text: &str| match edit::naming(text, path) {
        Some(Naming::Name) => is_only_one(view.located, path),
        Some(Naming::Folder | Naming::Path) => true,
        None => false,
    };
    let rules: Vec<&MemoryRow> = known.rules.iter().filter(|row| is_about(&row.memory.content)).collect();
    let mut lines = rule_lines(&rules);
    // A decision about a folder was told with the brief; here it would be told again with every file.
    let names_it =
        |text: &str| edit::naming(text, path).is_some_and(|naming| naming != Naming::Folder) && is_about(text);
    for item in known.decisions.iter().filter(|item| names_it(&item.text)) {
        lines.push(EditLine { line: item.told().to_string(), code: Some(item.receipt_code()), memory: None });
    }
    lines.extend(abandoned(view, &known.taken_back, path)?);
    let lines = edit::fitting(lines, |line| &line.line);
    if lines.is_empty() {
        return Ok(None);
    }
    let text = lines.iter().map(|line| line.line.as_str()).collect::<Vec<_>>().join("\n");
    let codes = lines.iter().filter_map(|line| line.code.clone()).chain([code]).collect();
    let memories = lines.into_iter().filter_map(|line| line.memory).collect();
    Ok(Some(EditTold { text, codes, memories }))
}

fn rule_lines(rules: &[&MemoryRow]) -> Vec<EditLine> {
    let candidates: Vec<MemoryCandidate> =
        rules.iter().map(|row| MemoryCandidate { id: &row.id, memory: &row.memory, why: "names the file" }).collect();
    let request = MemoryRequest {
        candidates: &candidates,
        guides: &GuideLines::default(),
        already_shown: &HashSet::new(),
        budget_tokens: edit::TOKENS_MAX,
        chars_max: usize::MAX,
    };
    let items = choose(&request, &mut Vec::new());
    items.into_iter().map(|item| EditLine { line: item.code.clone(), code: None, memory: Some(item) }).collect()
}

/// Whether no other file of the project has the same name.
fn is_only_one(located: &Located, path: &str) -> bool {
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_string();
    let own = name(path);
    let tracked = located.git_dir.as_ref().map(|git_dir| tracked::paths(git_dir)).unwrap_or_default();
    !tracked.iter().any(|other| other != path && name(other) == own)
}

/// A change of the file that was taken back, and not made again in that session.
fn abandoned(view: &View, taken_back: &[TakeBack], path: &str) -> view::Result<Option<EditLine>> {
    for back in taken_back {
        let mut sweeps = edit::taken_back(&back.command).into_iter().filter_map(|sweep| sweep.paths);
        if !sweeps.any(|paths| paths.iter().any(|given| covers(given.trim_start_matches("./"), path))) {
            continue;
        }
        let edited = view.store.last_edit(back.session, path, view.now)?;
        if edited.is_none_or(|edited| edited > back.event) {
            continue;
        }
        let Some(message) = view.store.message_after(back.session, back.event)? else { continue };
        let line = edit::abandoned(path, &message, back.at, view.now);
        if let Some(line) = line {
            return Ok(Some(EditLine { line, code: None, memory: None }));
        }
    }
    Ok(None)
}
