//! The settings of loops: the section `[loop]` of the user's settings, and of a project's `cerberus.toml`, which has no
//! other.

use std::path::Path;

use cerberus_os::home::Home;
use cerberus_store::config::{self, ConfigError};
use serde::Deserialize;

use crate::settings::Layer;

#[derive(Default, Deserialize)]
#[serde(default)]
struct UserSections {
    #[serde(rename = "loop")]
    loops: Layer,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ProjectSections {
    #[serde(rename = "loop")]
    loops: Layer,
}

pub fn of_user(home: &Home) -> Result<Layer, ConfigError> {
    config::load_as::<UserSections>(home).map(|sections| sections.loops)
}

pub fn of_project(root: &Path) -> Result<Layer, ConfigError> {
    config::of_project::<ProjectSections>(root).map(|sections| sections.loops)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_the_section_of_loops_is_read_and_a_project_has_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().to_path_buf());
        assert_eq!(of_user(&home).unwrap(), Layer::default());
        fs::write(home.config(), "[brief]\nnotice = false\n[loop]\nmax_iterations = 7").unwrap();
        assert_eq!(of_user(&home).unwrap().max_iterations, Some(7));
        fs::write(home.config(), "[loop]\nmax_iteration = 7").unwrap();
        assert!(of_user(&home).unwrap_err().to_string().contains("line 2: unknown field `max_iteration`"));
        let project = dir.path().join("cerberus.toml");
        fs::write(&project, "[loop]\nmax_iterations = 3").unwrap();
        assert_eq!(of_project(dir.path()).unwrap().max_iterations, Some(3));
        fs::write(&project, "[brief]\nnotice = false").unwrap();
        assert!(of_project(dir.path()).is_err(), "a project changes nothing else");
    }
}
