//! A second agent for the time in which the first one has reached its usage limit.

use std::time::Duration;

use cerberus_agents::stream::Wait;

use super::failure::{LimitKind, LoopFailure};
use super::settings::Layer;

/// Shorter limits are waited for. One whose end is unknown is not.
pub const WAIT_MIN: Duration = Duration::from_secs(60);

impl Layer {
    /// The same settings with the two agents swapped.
    pub fn fallback(&self) -> Option<Layer> {
        let other = self.fallback?;
        Some(Layer {
            agent: Some(other),
            program: self.fallback_program.clone(),
            agent_args: self.fallback_args.clone(),
            fallback: self.agent,
            fallback_program: self.program.clone(),
            fallback_args: self.agent_args.clone(),
            ..self.clone()
        })
    }
}

/// Whether another agent could go on. An overloaded server recovers soon; a usage limit lasts.
pub fn is_usage_limit(failure: &LoopFailure) -> bool {
    matches!(
        failure,
        LoopFailure::Limited { kind: LimitKind::Usage, .. } | LoopFailure::Limited { wait: Wait::Until(_), .. }
    )
}

#[cfg(test)]
mod tests {
    use cerberus_record::time::Timestamp;

    use super::*;

    #[test]
    fn the_agents_are_swapped_and_swapped_back() {
        let text = "agent = \"claude-code\"\nagent_args = [\"-x\"]\nfallback = \"codex\"\nfallback_args = [\"-y\"]\nuntil = \"t\"";
        let layer: Layer = toml::from_str(text).unwrap();
        let other = layer.fallback().unwrap();
        assert_eq!(other.agent.unwrap().name(), "codex");
        assert_eq!((other.agent_args.as_deref(), other.until.as_deref()), (Some(&["-y".to_string()][..]), Some("t")));
        assert_eq!(other.fallback().unwrap(), layer);
        assert_eq!(Layer::default().fallback(), None);
    }

    #[test]
    fn an_overload_is_no_usage_limit() {
        let limited = |kind, wait| LoopFailure::Limited { kind, wait, words: String::new() };
        assert!(is_usage_limit(&limited(LimitKind::Rate, Wait::Until(Timestamp::EPOCH))));
        assert!(is_usage_limit(&limited(LimitKind::Usage, Wait::Unknown)));
        assert!(!is_usage_limit(&limited(LimitKind::Overload, Wait::Unknown)));
        assert!(!is_usage_limit(&LoopFailure::Full));
    }
}
