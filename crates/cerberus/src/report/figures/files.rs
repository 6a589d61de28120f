//! The most edited files, by week.

use std::collections::BTreeMap;

use super::ReportSession;
use super::weeks::{WEEKS, Weeks};

/// How many files are shown.
pub const FILES_MAX: usize = 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRow {
    pub project: String,
    pub path: String,
    pub edits: usize,
    /// Edits in each week.
    pub by_week: Vec<usize>,
}

/// The files with most edits, project by project; the project with the most edited file comes first.
pub fn most_edited(sessions: &[ReportSession], weeks: Weeks) -> Vec<FileRow> {
    let mut by_file: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    for session in sessions {
        let Some(week) = weeks.of(session.day) else { continue };
        for (path, edits) in &session.edited {
            by_file.entry((&session.project, path)).or_insert_with(|| vec![0; WEEKS])[week] += edits;
        }
    }
    let row = |((project, path), by_week): ((&str, &str), Vec<usize>)| FileRow {
        project: project.to_string(),
        path: path.to_string(),
        edits: by_week.iter().sum(),
        by_week,
    };
    let mut rows: Vec<FileRow> = by_file.into_iter().map(row).filter(|row| row.edits > 0).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.edits));
    rows.truncate(FILES_MAX);
    let mut projects: Vec<String> = Vec::new();
    for row in &rows {
        if !projects.contains(&row.project) {
            projects.push(row.project.clone());
        }
    }
    rows.sort_by_key(|row| projects.iter().position(|project| *project == row.project));
    rows
}

/// The end of a path, at most `chars_max` characters: `…store/read.rs`.
pub fn short_path(path: &str, chars_max: usize) -> String {
    let count = path.chars().count();
    if count <= chars_max {
        return path.to_string();
    }
    let end: String = path.chars().skip(count - chars_max.saturating_sub(1)).collect();
    // Whole names are easier to read, if any is left.
    let whole = end.find('/').map(|slash| &end[slash + 1..]).filter(|whole| whole.chars().count() * 2 >= chars_max);
    format!("…{}", whole.unwrap_or(&end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::figures::session;

    #[test]
    fn edits_are_summed_by_project_file_and_week() {
        let edited = |day: i64, project: &str, edits: &[(&str, usize)]| {
            let mut session = session(day);
            session.project = project.to_string();
            session.edited = edits.iter().map(|(path, count)| (path.to_string(), *count)).collect();
            session
        };
        let today = 20_773;
        let all = [
            edited(today, "hydra", &[("a.rs", 2), ("b.rs", 1)]),
            edited(today - 7, "hydra", &[("a.rs", 3), ("none.rs", 0)]),
            edited(today, "nimbus", &[("a.rs", 4)]),
            edited(today - 400, "hydra", &[("old.rs", 9)]),
        ];
        let rows = most_edited(&all, Weeks::until(today));
        let seen: Vec<(&str, &str, usize)> =
            rows.iter().map(|row| (row.project.as_str(), row.path.as_str(), row.edits)).collect();
        assert_eq!(seen, [("hydra", "a.rs", 5), ("hydra", "b.rs", 1), ("nimbus", "a.rs", 4)]);
        assert_eq!(rows[0].by_week[24..], [3, 2]);
    }

    #[test]
    fn long_paths_keep_their_end() {
        for (path, short) in [
            ("src/a.rs", "src/a.rs"),
            ("crates/engine/src/store/read.rs", "…src/store/read.rs"),
            ("a/very_long_name_of_a_file.rs", "…ng_name_of_a_file.rs"),
        ] {
            assert_eq!(short_path(path, 21), short.to_string(), "{path}");
        }
    }
}
