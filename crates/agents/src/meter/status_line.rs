//! The line below an agent's prompt: what the session was told, what waits for review, how full its context is.

use super::redline::{Fill, Redline};
use crate::meter::MeterReading;

/// Everything that the line shows.
#[derive(Clone, Debug)]
pub struct StatusLine<'a> {
    pub project: &'a str,
    /// The number of lines and tokens that the session was told.
    pub told: (usize, usize),
    pub proposals: usize,
    pub reading: MeterReading,
    pub redline: Redline,
    pub cost_usd: Option<f64>,
    /// What goes on with the session in another agent, because the limit of this one is reached.
    pub limited: Option<String>,
}

impl StatusLine<'_> {
    /// `hydra · told 14 lines, 412 tokens · 3 to review │ ctx 38%, redline 70% · $0.42`
    pub fn text(&self) -> String {
        let (lines, tokens) = self.told;
        let told = match lines {
            0 => "told nothing".to_string(),
            1 => format!("told 1 line, {tokens} tokens"),
            _ => format!("told {lines} lines, {tokens} tokens"),
        };
        let review = (self.proposals > 0).then(|| format!("{} to review", self.proposals));
        let left = [Some(self.project.to_string()), Some(told), review];
        let cost = self.cost_usd.filter(|cost| cost.is_finite() && *cost >= 0.0).map(|cost| format!("${cost:.2}"));
        let right = [Some(self.fill()), cost, self.limited.as_ref().map(|command| format!("limit reached: {command}"))];
        let joined = |parts: &[Option<String>]| parts.iter().flatten().cloned().collect::<Vec<_>>().join(" · ");
        format!("{} │ {}", joined(&left), joined(&right))
    }

    fn fill(&self) -> String {
        let Some(percent) = self.reading.percent else { return "ctx –".to_string() };
        let percent = percent.clamp(0.0, 100.0).floor();
        match self.redline.judge(&self.reading) {
            Fill::Below => format!("ctx {percent}%, redline {}", self.redline.soft),
            Fill::Soft => format!("ctx {percent}%, hand over soon"),
            Fill::Hard => format!("ctx {percent}%, hand over now"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::Certainty;

    #[test]
    fn the_line_says_what_is_known() {
        let line = |told, proposals, percent, cost_usd| {
            let reading = MeterReading { tokens: None, window: None, percent, certainty: Certainty::Direct };
            let redline = Redline::default();
            StatusLine { project: "hydra", told, proposals, reading, redline, cost_usd, limited: None }.text()
        };
        for (given, expected) in [
            (
                line((14, 412), 3, Some(38.4), Some(0.417)),
                "hydra · told 14 lines, 412 tokens · 3 to review │ ctx 38%, redline 70% · $0.42",
            ),
            (line((0, 0), 0, None, None), "hydra · told nothing │ ctx –"),
            (line((1, 9), 0, Some(70.0), Some(0.0)), "hydra · told 1 line, 9 tokens │ ctx 70%, hand over soon · $0.00"),
            (
                line((2, 9), 1, Some(131.0), Some(f64::NAN)),
                "hydra · told 2 lines, 9 tokens · 1 to review │ ctx 100%, hand over now",
            ),
        ] {
            assert_eq!(given, expected);
        }
    }
}
