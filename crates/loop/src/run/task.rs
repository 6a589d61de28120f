//! The task of a loop: a text, or a file that is read again for every context.

use std::path::PathBuf;

use cerberus_os::outside;

/// Longer than any real task. A context has to hold it.
const TASK_BYTES_MAX: u64 = 1024 * 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoopTask {
    Text(String),
    File(PathBuf),
}

#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    #[error("cannot read the task in {path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("the task is empty")]
    Empty,
}

impl LoopTask {
    /// The task as it is now.
    pub fn read(&self) -> Result<String, TaskError> {
        let text = match self {
            LoopTask::Text(text) => text.clone(),
            LoopTask::File(path) => {
                outside::text(path, TASK_BYTES_MAX).map_err(|source| TaskError::Read { path: path.clone(), source })?
            }
        };
        if text.trim().is_empty() { Err(TaskError::Empty) } else { Ok(text) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_anew_and_an_empty_task_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("TASK.md");
        let task = LoopTask::File(path.clone());
        assert!(matches!(task.read(), Err(TaskError::Read { .. })));
        for text in ["one", "two"] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(task.read().unwrap(), text);
        }
        assert!(matches!(LoopTask::Text(" \n".to_string()).read(), Err(TaskError::Empty)));
    }
}
