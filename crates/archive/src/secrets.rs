//! Secrets in the archive that rules did not know when it was written.

use cerberus_os::home::Home;
use cerberus_record::clean::Cleaner;
use serde_json::Value;

use crate::erase::{rewrite, set_aside};
use crate::error::ArchiveError;
use crate::escapes::remove_escapes;
use crate::segment::{FoundBlock, each_block, segments};

/// Calls `found` with the name of the file, the place in it and each line that has secrets, also of what was set aside.
pub fn secrets(home: &Home, found: &mut dyn FnMut(&str, u64, &str, &str)) -> Result<(), ArchiveError> {
    for path in segments(home)?.into_iter().map(|(_, path)| path).chain(set_aside(home, &["damaged"])?) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        each_block(home, 0, &path, 0, |read| {
            if let FoundBlock::Block(place, block) = read {
                for line in &block.lines {
                    let clean = without_secrets(home.cleaner(), line);
                    if clean != *line {
                        found(&name, place.offset, &clean, line);
                    }
                }
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Removes secrets that rules know now.
pub fn remove_secrets(home: &Home) -> Result<(), ArchiveError> {
    rewrite(home, &|_| false, &|_, _, line| Some(without_secrets(home.cleaner(), line)))
}

fn without_secrets(cleaner: &Cleaner, line: &str) -> String {
    let Ok(mut value) = serde_json::from_slice::<Value>(line.as_bytes()) else { return line.to_string() };
    // Earlier versions kept them.
    remove_escapes(&mut value);
    let is_changed = redact(cleaner, &mut value);
    if is_changed { value.to_string() } else { line.to_string() }
}

fn redact(cleaner: &Cleaner, value: &mut Value) -> bool {
    match value {
        Value::String(text) => {
            let clean = cleaner.redact(text);
            let is_changed = *clean != **text;
            if is_changed {
                *text = clean.into_owned();
            }
            is_changed
        }
        Value::Array(all) => all.iter_mut().fold(false, |changed, value| redact(cleaner, value) | changed),
        Value::Object(object) => object.values_mut().fold(false, |changed, value| redact(cleaner, value) | changed),
        _ => false,
    }
}
