//! The list of all clients.

use super::{Client, claude_code, cline, codex, copilot, gemini, opencode, qwen_code};

/// Every release that `dev/clients` installs, the newest of each agent first.
pub static ALL: [&dyn Client; 15] = [
    &claude_code::ClaudeCode,
    &claude_code::OLD[2],
    &claude_code::OLD[1],
    &claude_code::OLD[0],
    &codex::Codex,
    &codex::OLD,
    &gemini::Gemini,
    &gemini::OLD,
    &opencode::Opencode,
    &opencode::OLD,
    &copilot::Copilot,
    &copilot::OLD,
    &qwen_code::QwenCode,
    &qwen_code::OLD,
    &cline::Cline,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_is_missing_and_what_installs_it() {
        let clients = tempfile::tempdir().unwrap();
        for pin in ALL.map(|client| client.pin()) {
            let told = pin.locate_in(clients.path()).unwrap_err();
            let expected = [format!("{} is missing", pin.version), format!("dev/clients {}", pin.name)];
            assert!(expected.iter().all(|part| told.contains(part)), "{told}");
        }
    }

    #[test]
    fn refuses_another_version() {
        let clients = tempfile::tempdir().unwrap();
        for pin in ALL.map(|client| client.pin()) {
            let package = clients.path().join(pin.name).join("node_modules").join(pin.package);
            std::fs::create_dir_all(&package).unwrap();
            std::fs::write(package.join("package.json"), r#"{"version":"2.0.0"}"#).unwrap();
            let told = pin.locate_in(clients.path()).unwrap_err();
            assert!(told.contains("\"2.0.0\" is installed") && told.contains("dev/clients"), "{told}");
        }
    }

    #[test]
    fn the_installer_pins_the_same_versions() {
        let installer = include_str!("../../../../dev/clients");
        let table = installer.split("pins='\n").nth(1).and_then(|rest| rest.split("\n'").next()).unwrap();
        let installed: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().take(4).collect()).collect();
        let pins = ALL.map(|client| client.pin());
        let expected: Vec<Vec<&str>> =
            pins.iter().map(|pin| vec![pin.name, pin.package, pin.version, pin.program]).collect();
        assert_eq!(installed, expected);
    }
}
