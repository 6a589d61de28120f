//! Stand-in.
pub fn line(text: &str) -> usize {
    text.len() / 3 + 1
}
pub fn estimate(text: &str) -> usize {
    text.lines().map(line).sum()
}
