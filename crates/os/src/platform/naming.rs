//! What macOS and Windows call programs and computers, in the form in which we compare it.

/// A program by its file: neither system minds case, and Windows adds an ending.
pub(super) fn program(file: &str) -> String {
    let name = file.to_lowercase();
    name.strip_suffix(".exe").unwrap_or(&name).to_string()
}

/// The name of a computer may get another domain in another network, so only its first part counts.
pub(super) fn machine(host: &str) -> String {
    host.split('.').next().unwrap_or_default().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_in_one_form() {
        for (file, name) in
            [("claude", "claude"), ("Cursor Helper", "cursor helper"), ("NODE.EXE", "node"), ("a.exe.exe", "a.exe")]
        {
            assert_eq!(program(file), name);
        }
        for (host, name) in
            [("Anns-MacBook-Pro.local", "anns-macbook-pro"), ("ANN-PC", "ann-pc"), ("mac.example.com", "mac"), ("", "")]
        {
            assert_eq!(machine(host), name);
        }
    }
}
