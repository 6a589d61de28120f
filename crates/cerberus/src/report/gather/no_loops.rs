//! A program without loops has no runs of them.

use std::collections::{BTreeMap, HashMap};

use cerberus_agents::meter::price::PricedBy;
use cerberus_record::id::ProjectId;

use super::{ReportError, ReportSources};
use crate::report::figures::loops::ReportedRun;
use crate::report::figures::weeks::Weeks;

/// What a loop measured of a session that it ran.
pub struct Measured {
    pub fill_percent: Option<f64>,
    pub tokens: Option<u64>,
    pub cost_usd: Option<f64>,
    pub priced_by: Option<PricedBy>,
}

pub fn loops(
    _: &ReportSources,
    _: &BTreeMap<ProjectId, String>,
    _: Weeks,
) -> Result<(HashMap<String, Measured>, Vec<ReportedRun>), ReportError> {
    Ok((HashMap::new(), Vec::new()))
}
