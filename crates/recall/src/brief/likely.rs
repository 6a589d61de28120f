//! Orders files by how likely they are to be worked on next, adds likely files that no recent session changed,
//! removes items about deleted files, and marks decisions made on another branch.

use cerberus_record::clean::text;
use cerberus_record::fact::FactKind;
use cerberus_record::id::SessionId;
use cerberus_record::map::FastMap;
use cerberus_record::time::Timestamp;
use cerberus_record::words::is_one_of;
use cerberus_text::tokens;

use super::fit::is_interrupted;
use super::rank::RankedFile;
use super::rank::weights::{
    BLOCKERS_MAX, DECISIONS_MAX, FILES_MAX, FUNCTIONS_MAX, FUNCTIONS_PER_FILE_MAX, NEXT_MAX, ONLY_SESSION_FILES_MAX,
};
use super::{BriefLine, BriefRequest, DroppedLine, Likely, Section};
use crate::extract::is_recorded;

/// Removes items about deleted files and marks decisions from unmerged branches.
pub fn remove_stale(items: &mut Vec<BriefLine>, likely: &Likely, dropped: &mut Vec<DroppedLine>) {
    items.retain(|item| {
        let is_gone = item.path.as_ref().is_some_and(|path| likely.gone.contains(path));
        if is_gone {
            dropped.push(DroppedLine { code: item.code.clone(), reason: "its file is not here".to_string() });
        }
        !is_gone
    });
    for item in items.iter_mut().filter(|item| item.kind == FactKind::Decision) {
        if let Some(branch) = item.session.as_ref().and_then(|session| likely.unmerged.get(session)) {
            item.code = format!("{}@{}", item.code, text::code(branch));
            item.tokens = tokens::line(&item.code);
        }
    }
}

/// Files that recent sessions changed stay `impl:`; other likely files are `see:`.
pub fn place_files(items: &mut Vec<BriefLine>, request: &BriefRequest, dropped: &mut Vec<DroppedLine>) {
    if request.likely.files.is_empty() {
        return;
    }
    let (files, others): (Vec<BriefLine>, Vec<BriefLine>) =
        items.drain(..).partition(|item| item.section == Section::Files);
    let (mut by_path, mut placed) = (FastMap::default(), Vec::new());
    let mut order = Vec::new();
    for item in files {
        match item.path.clone() {
            Some(path) => {
                order.push(path.clone());
                by_path.insert(path, item);
            }
            None => placed.push(item),
        }
    }
    // The files of an only session are all it left; there is nothing to choose by.
    let files_max = if request.worked.len() > 1 { FILES_MAX } else { ONLY_SESSION_FILES_MAX };
    // A continuing session gets only what other sessions did since; a file that is merely likely is not news.
    let adds_others = request.known.is_none();
    // What was cut off comes first.
    let cut_off: Vec<&SessionId> =
        others.iter().filter(|item| is_interrupted(item)).filter_map(|item| item.session.as_ref()).collect();
    let is_cut_off = |ranked: &&RankedFile| {
        let item = by_path.get(&ranked.path).filter(|item: &&BriefLine| item.kind == FactKind::File);
        item.and_then(|item| item.session.as_ref()).is_some_and(|session| cut_off.contains(&session))
    };
    let (first, rest): (Vec<&RankedFile>, Vec<&RankedFile>) = request.likely.files.iter().partition(is_cut_off);
    for ranked in first.into_iter().chain(rest) {
        if placed.len() >= files_max {
            break;
        }
        match by_path.remove(&ranked.path) {
            Some(item) => placed.push(BriefLine { place: Some(ranked.trace.why(request.now)), ..item }),
            None if adds_others => placed.push(seen(ranked, request.now)),
            None => {}
        }
    }
    for item in order.iter().filter_map(|path| by_path.remove(path)) {
        dropped.push(DroppedLine { code: item.code, reason: format!("ranked below the first {files_max} files") });
    }
    items.extend(placed);
    items.extend(others);
}

/// A file that no recent session touched, but that is likely to be next.
pub fn seen(ranked: &RankedFile, now: Timestamp) -> BriefLine {
    let code = format!("{}{}", FactKind::Read.prefix(), text::code(&ranked.path));
    BriefLine {
        section: Section::Files,
        kind: FactKind::Read,
        tokens: tokens::line(&code),
        code,
        text: text::name(&ranked.path).into_owned(),
        path: Some(ranked.path.clone()),
        session: ranked.trace.last_touch.as_ref().map(|(_, session)| session.clone()),
        at: ranked.trace.last_known().unwrap_or(now),
        times: ranked.trace.sessions_edited + ranked.trace.sessions_read,
        reference: None,
        place: Some(ranked.trace.why(now)),
        author: None,
    }
}

/// Names that say nothing without their type or their line.
const GENERIC_NAMES: &str = "new run main default init get set from into fmt clone drop len next read write open close update \
    render test tests setup handle add build execute parse constructor toString";

fn has_line(function: &BriefLine, likely: &Likely) -> bool {
    let of_file = function.path.as_ref().and_then(|path| likely.lines.get(path));
    of_file.is_some_and(|found| found.function == function.text)
}

/// A function is told behind its file, so it is kept only if the file is. A few per file say what was worked on.
pub fn trim_functions(items: &mut Vec<BriefLine>, likely: &Likely, dropped: &mut Vec<DroppedLine>) {
    let is_shown = |item: &&BriefLine| item.section == Section::Files && item.kind == FactKind::File;
    let mut left: FastMap<String, usize> =
        items.iter().filter(is_shown).filter_map(|item| Some((item.path.clone()?, FUNCTIONS_PER_FILE_MAX))).collect();
    let mut count = 0;
    items.retain(|item| {
        if item.section != Section::Functions {
            return true;
        }
        let left = item.path.as_ref().map(|path| left.get_mut(path));
        let reason = match left {
            Some(None) => "its file is not told".to_string(),
            Some(Some(0)) => format!("older than the last {FUNCTIONS_PER_FILE_MAX} functions of its file"),
            _ if is_one_of(&item.text, GENERIC_NAMES) && !has_line(item, likely) => {
                "its name says too little".to_string()
            }
            _ if count == FUNCTIONS_MAX => format!("older than the last {FUNCTIONS_MAX} functions"),
            left => {
                count += 1;
                left.flatten().into_iter().for_each(|left| *left -= 1);
                return true;
            }
        };
        dropped.push(DroppedLine { code: item.code.clone(), reason });
        false
    });
}

/// So many open items and decisions are told, the newest first; more are not read.
pub fn trim_statements(items: &mut Vec<BriefLine>, dropped: &mut Vec<DroppedLine>) {
    for (section, max) in
        [(Section::Blockers, BLOCKERS_MAX), (Section::Next, NEXT_MAX), (Section::Decisions, DECISIONS_MAX)]
    {
        let mut count = 0;
        items.retain(|item| {
            let is_counted =
                item.section == section && !is_interrupted(item) && !is_recorded(item.reference.as_deref());
            count += usize::from(is_counted);
            let is_kept = !is_counted || count <= max;
            if !is_kept {
                dropped.push(DroppedLine { code: item.code.clone(), reason: format!("older than {max} others") });
            }
            is_kept
        });
    }
}
