//! A program without loops has no runs of them.

use std::collections::{BTreeMap, HashMap};

use cerberus_record::id::ProjectId;

use super::{ReportError, Sources};
use crate::report::figures::loops::LoopRun;
use crate::report::figures::weeks::Weeks;

/// What a loop measured of a session that it ran.
pub struct Measured {
    pub fill_percent: Option<f64>,
    pub tokens: Option<u64>,
    pub cost_usd: Option<f64>,
}

pub fn loops(
    _: &Sources,
    _: &BTreeMap<ProjectId, String>,
    _: Weeks,
) -> Result<(HashMap<String, Measured>, Vec<LoopRun>), ReportError> {
    Ok((HashMap::new(), Vec::new()))
}
