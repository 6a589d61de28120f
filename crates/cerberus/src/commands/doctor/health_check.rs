//! What `doctor` says about one thing.

use serde::Serialize;

/// Whether it is as it should be, and how to mend it.
#[derive(Serialize)]
pub(super) struct HealthCheck {
    pub name: &'static str,
    pub ok: bool,
    pub detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

pub(super) fn good(name: &'static str, detail: impl Into<String>) -> HealthCheck {
    HealthCheck { name, ok: true, detail: detail.into(), fix: None }
}

pub(super) fn bad(name: &'static str, detail: impl Into<String>, fix: impl Into<String>) -> HealthCheck {
    HealthCheck { name, ok: false, detail: detail.into(), fix: Some(fix.into()) }
}
