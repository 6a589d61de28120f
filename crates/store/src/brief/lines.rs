//! Where the functions that were edited last are defined now, so that a session can go on there without reading the
//! whole file. The files are read when the brief is made, so a line is right or is not told.

use std::cmp::Reverse;
use std::path::{Component, Path};

use cerberus_os::outside;
use cerberus_recall::brief::{FunctionLine, KnownFact};
use cerberus_recall::extract::symbols::{self, Language};
use cerberus_record::fact::FactKind;
use cerberus_record::map::FastMap;

use crate::brief::subject::View;

/// So many files are read, none larger than this.
const FILES_MAX: usize = 4;
const SOURCE_BYTES_MAX: u64 = 128 * 1024;

/// The lines of the functions that these facts name last, by the paths of their files.
pub(super) fn edited_last(view: &View, facts: &[KnownFact]) -> FastMap<String, FunctionLine> {
    let mut named: Vec<(&KnownFact, &str)> = facts
        .iter()
        .filter(|known| known.fact.kind == FactKind::Function)
        .filter_map(|known| Some((known, known.fact.path.as_deref()?)))
        .collect();
    named.sort_by_key(|(known, _)| Reverse((known.at, known.event)));
    let mut seen: Vec<&str> = Vec::new();
    let mut lines = FastMap::default();
    for (known, path) in named {
        if seen.contains(&path) {
            continue;
        }
        if seen.len() == FILES_MAX {
            break;
        }
        seen.push(path);
        if let Some(line) = line(view, path, &known.fact.text) {
            lines.insert(path.to_string(), FunctionLine { function: known.fact.text.clone(), line });
        }
    }
    lines
}

fn line(view: &View, path: &str, function: &str) -> Option<u32> {
    let is_inside = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    let language = Language::of_path(path).filter(|_| is_inside && !view.store.privacy_rules().is_private(path))?;
    let source = outside::text(&view.located.root.join(path), SOURCE_BYTES_MAX).ok()?;
    symbols::line_of(language, &source, function)
}
