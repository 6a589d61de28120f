//! Stand-in.
pub fn may_be_run(command: &str) -> bool {
    command.contains("test")
}
