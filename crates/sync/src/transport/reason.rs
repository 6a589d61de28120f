//! What may be repeated of a hub's answer.

/// Enough for one sentence.
const REASON_CHARACTERS_MAX: usize = 200;

/// The first line that says something, short and without control characters.
pub fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("no reason given");
    let printable = line.chars().filter(|character| !character.is_control());
    printable.take(REASON_CHARACTERS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_one_short_printable_line() {
        assert_eq!(first_line("\n  fatal: no \u{1b}[31mway\nmore"), "fatal: no [31mway");
        assert_eq!(first_line(""), "no reason given");
        assert_eq!(first_line(&"a".repeat(1000)).len(), 200);
    }
}
