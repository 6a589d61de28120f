//! Any program: its lines are words, and nothing more is known.

use super::Said;

pub fn read(line: &[u8]) -> Vec<Said> {
    let text = String::from_utf8_lossy(line);
    vec![Said::Text(text.trim_end_matches(['\n', '\r']).to_string())]
}
