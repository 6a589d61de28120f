//! The notification at the end of a loop: on the desktop, or a command of the user.

/// The setting that stands for the desktop.
const DESKTOP: &str = "desktop";

/// The shell command that notifies.
pub fn command(how: &str, title: &str, words: &str) -> String {
    if how.trim() != DESKTOP {
        return how.to_string();
    }
    let (title, words) = (quoted(title), quoted(words));
    let script = "-e 'on run argv' -e 'display notification (item 2 of argv) with title (item 1 of argv)' -e 'end run'";
    format!(
        "if command -v notify-send >/dev/null; then notify-send --app-name=cerberus -- {title} {words}; \
         elif command -v osascript >/dev/null; then osascript {script} {title} {words}; \
         else echo 'neither notify-send nor osascript is installed' >&2; exit 127; fi"
    )
}

/// For a shell. Control characters would disturb some desktops.
fn quoted(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_run_as_it_is_and_words_are_never_part_of_a_script() {
        assert_eq!(command("./tell.sh", "t", "w"), "./tell.sh");
        let told = command("desktop", "it's", "$(rm x)\n`y`");
        assert!(told.contains(r"'it'\''s' '$(rm x) `y`'"), "{told}");
    }
}
