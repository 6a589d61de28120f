//! What the command after a finished task is told: the branch, a title and a summary, as variables of its environment.

use std::time::Duration;

use cerberus_record::clean::text::{self, clip};

use super::changed_since;
use super::handover::{LeftContext, RunHistory};
use super::job::Job;

/// It may push, and wait for a server.
pub const TIME_MAX: Duration = Duration::from_secs(600);

const TITLE_CHARS_MAX: usize = 72;
const SUMMARY_BYTES_MAX: usize = 8_000;
const FILES_MAX: usize = 50;

/// The title is the first line of the task; the summary is what the agent said last, and the files that changed.
pub fn variables(job: &Job, history: &RunHistory, left: Option<&LeftContext>) -> Vec<(&'static str, String)> {
    let cleaner = job.home.cleaner();
    let said = left.map(|left| left.heard.quote().trim().to_string()).unwrap_or_default();
    let mut files: Vec<String> = changed_since(&job.located, history.base.as_deref())
        .into_iter()
        .map(|changed| changed.path)
        .filter(|path| !job.home.privacy_rules().is_private(path))
        .collect();
    files.sort();
    files.dedup();
    vec![
        ("CERBERUS_BRANCH", job.located.branch().unwrap_or_default()),
        ("CERBERUS_TITLE", title(&cleaner.redact_words(&history.task))),
        ("CERBERUS_SUMMARY", summary(&cleaner.redact_words(&said), &files)),
    ]
}

fn title(task: &str) -> String {
    let first = task.lines().map(|line| line.trim_start_matches(['#', ' '])).find(|line| !line.is_empty());
    text::line(first.unwrap_or_default(), TITLE_CHARS_MAX)
}

fn summary(said: &str, files: &[String]) -> String {
    let mut lines: Vec<String> = vec![clip(said, SUMMARY_BYTES_MAX).trim().to_string()];
    if !files.is_empty() {
        lines.push("\nChanged files:".to_string());
        lines.extend(files.iter().take(FILES_MAX).map(|path| format!("- {path}")));
        let more = files.len().saturating_sub(FILES_MAX);
        lines.extend((more > 0).then(|| format!("- and {more} more")));
    }
    lines.join("\n").trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_line_and_a_summary_is_bounded() {
        assert_eq!(title("\n# Build the parser\n\nIt reads."), "Build the parser");
        assert!(title(&"word ".repeat(60)).chars().count() <= TITLE_CHARS_MAX);
        let files: Vec<String> = (0..60).map(|number| format!("f{number}")).collect();
        let long = summary(&"said ".repeat(9_000), &files);
        assert!(long.len() < SUMMARY_BYTES_MAX + 1_000 && long.ends_with("- f49\n- and 10 more"), "{}", long.len());
        assert_eq!(summary("Done.", &[]), "Done.");
    }
}
