//! The sizes of models' context windows, as agents reported them, stored for later sessions.
//!
//! The file can be deleted at any time; a size that cannot be read or written is learned again.

use cerberus_os::home::{Home, create_dir};
use cerberus_os::replace::replace;

use crate::meter::{MeterNews, Windows};

const WINDOWS_BYTES_MAX: u64 = 64 * 1024;

pub fn load(home: &Home) -> Windows {
    let text = home.text(&path(home), WINDOWS_BYTES_MAX).ok();
    text.and_then(|text| serde_json::from_slice(text.as_bytes()).ok()).unwrap_or_default()
}

pub fn learn(home: &Home, known: &mut Windows, told: &Windows) {
    let is_new = told.iter().filter(|(model, tokens)| known.learn(model, *tokens) == MeterNews::New).count() > 0;
    if is_new && let Ok(bytes) = serde_json::to_vec(known) {
        let _ = create_dir(&home.loops_dir()).and_then(|()| replace(&path(home), &bytes, 0o600));
    }
}

fn path(home: &Home) -> std::path::PathBuf {
    home.loops_dir().join("windows.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn learned_sizes_are_kept_and_a_damaged_file_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().to_path_buf());
        let hear = |model: &str, tokens| {
            let mut told = Windows::default();
            told.learn(model, tokens);
            learn(&home, &mut load(&home), &told);
            load(&home)
        };
        hear("a", 10);
        hear("b", 20);
        let known = hear("a", 30);
        assert_eq!((known.of("a"), known.of("b")), (Some(30), Some(20)));
        std::fs::write(path(&home), "{").unwrap();
        assert_eq!(hear("a", 10).of("b"), None);
    }
}
