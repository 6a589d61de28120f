//! How much each kind of text counts in a search over everything.

/// A category whose texts are not judged by their neighbours.
pub const STANDS_ALONE: &str = "rule";

/// What a memory is called beside the kinds of entries.
pub const MEMORY: &str = "memory";

/// The factor for the score of a text of this kind. What somebody said about the work comes before the names of what it
/// touched; a file that was only read comes last.
pub fn weight(kind: &str) -> f64 {
    match kind {
        "title" | MEMORY => 1.0,
        "prompt" | "decision" | "blocker" | "objective" => 0.95,
        "next" | "done" | "commit" | "pull_request" | "note" => 0.9,
        "said" | "function" | "file" | "test" => 0.85,
        "command" => 0.8,
        _ => 0.7,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_about_the_work_come_before_what_it_touched() {
        assert!(weight("title") > weight("decision") && weight("decision") > weight("file"));
        assert!(weight("file") > weight("read") && weight("read") == weight("of a newer version"));
    }
}
