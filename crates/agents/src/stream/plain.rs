//! Any other program: every line is text.

use super::StreamEvent;

pub fn read(line: &[u8]) -> Vec<StreamEvent> {
    let text = String::from_utf8_lossy(line);
    vec![StreamEvent::Text(text.trim_end_matches(['\n', '\r']).to_string())]
}
