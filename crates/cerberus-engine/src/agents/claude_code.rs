//! Claude Code's settings files.
