//! Codex's memory: one file about all projects, in groups that say which folders they are about.

/// The sections of a group that hold statements; others list sources and search terms.
const SECTIONS: [&str; 3] = ["## User preferences", "## Reusable knowledge", "## Failures"];

/// The statements about the project at `root`. A group that is about another folder as well is left out.
pub fn about(text: &str, root: &str) -> String {
    let (mut is_about, mut is_wanted) = (false, false);
    let mut kept = String::new();
    for line in text.lines() {
        if line.starts_with("# ") {
            (is_about, is_wanted) = (false, false);
        } else if let Some(folders) = line.strip_prefix("applies_to: cwd=") {
            is_about = is_only(folders, root);
        } else if line.starts_with("## ") {
            is_wanted = SECTIONS.iter().any(|section| line.starts_with(section));
        } else if is_about && is_wanted && line.starts_with("- ") {
            // Each ends in the tasks that it was learned from.
            kept.push_str(line.split(" [Task ").next().unwrap_or(line));
            kept.push('\n');
        }
    }
    kept
}

/// Whether all these folders are in the project: `/a and /b/c; reuse_rule=…`.
fn is_only(folders: &str, root: &str) -> bool {
    let folders = folders.split(';').next().unwrap_or_default();
    let inside =
        |folder: &str| folder.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '\\']));
    folders.split(" and ").flat_map(|some| some.split(", ")).all(|folder| inside(folder.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_groups_about_the_project_alone_are_read() {
        let group = |folders: &str, note: &str| {
            format!(
                "# Task Group: work\nscope: all\napplies_to: cwd={folders}; reuse_rule=safe\n\n## Task 1: it\n\n\
                 ### keywords\n\n- some, keywords\n\n## Reusable knowledge\n\n- {note} [Task 1][Task 2]\n- More of {note}\n"
            )
        };
        let text = [
            group("/code/shop", "one"),
            group("/code/shop/web, /code/shop", "two"),
            group("/code/shop-two", "not this"),
            group("/code/shop two", "nor this"),
            group("/code/shop and /code/secret", "nor that"),
            group("unknown", "nor unknown"),
        ];
        let text = format!("- outside of any group\n{}", text.concat());
        assert_eq!(about(&text, "/code/shop"), "- one\n- More of one\n- two\n- More of two\n");
        assert_eq!(about("", "/code/shop"), "");
    }
}
