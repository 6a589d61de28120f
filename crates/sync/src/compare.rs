//! What the hub shows, compared with what was seen before: here, and by other devices.

use std::time::Duration;

use super::document::{Head, Proof, Reach};
use super::local::StreamState;
use super::reading::{CLOCK_MAX, NEWER, PullReading, StreamHeads, withheld};

impl PullReading<'_> {
    /// Whether somebody else wrote our own stream: another home with our key. What counts is what our key has signed; others
    /// may claim anything. A stream that is not begun here, but is on the hub, begins again: it was shared before, or its
    /// state was lost.
    pub(super) fn is_forked(&self, heads: &StreamHeads, state: &mut StreamState) -> bool {
        let own = self.device.id.to_string();
        let ours = state.sealed.clone();
        let is_other = |reach: &&Reach| {
            reach.is_after(&ours)
                || (reach.generation, reach.sequence) == (ours.generation, ours.sequence) && reach.hash != ours.hash
        };
        let sign = self.device.secrets.sign_public();
        let is_proven = |proof: &&Proof| sign.is_some_and(|sign| proof.holds(&sign, &self.project.place(), &own));
        let proven = heads.values().filter_map(|head| head.proofs.get(&own)).filter(is_proven);
        let signed = heads.get(&own).map(|head| &head.reach).into_iter().chain(proven.map(|proof| &proof.reach));
        let Some(other) = signed.filter(is_other).map(|reach| reach.generation).max() else { return false };
        let is_begun = ours != Reach::default();
        if !is_begun {
            state.sealed.generation = other.saturating_add(1);
        }
        is_begun
    }

    /// If the hub has lost something of our own stream, all of it is sent again.
    pub(super) fn repair(&self, heads: &StreamHeads, is_whole: bool, state: &mut StreamState) {
        let shown = heads.get(&self.device.id.to_string()).map(|head| (head.reach.generation, head.reach.sequence));
        if shown.map_or(is_whole, |shown| shown < (state.sealed.generation, state.published)) {
            state.head.clear();
            state.is_to_rewrite |= state.published > 0;
        }
    }

    /// Compares what the hub shows with what was seen before, here and by others.
    pub(super) fn compare(
        &self,
        heads: &StreamHeads,
        is_whole: bool,
        state: &mut StreamState,
        problems: &mut Vec<String>,
    ) {
        state.proofs.clear();
        for (device, seen) in &state.seen {
            let is_removed = |device: &String| self.trust.gone.contains_key(device);
            let is_over =
                is_removed(device) || seen.by.as_ref().is_some_and(is_removed) || self.skipped.contains(device);
            let is_back = match heads.get(device) {
                Some(head) => {
                    let same =
                        (head.reach.generation, head.reach.sequence) == (seen.reach.generation, seen.reach.sequence);
                    seen.reach.is_after(&head.reach) || same && head.reach.hash != seen.reach.hash
                }
                None => is_whole && !problems.contains(&self.problem(device, NEWER)),
            };
            if is_back && !is_over {
                problems.push(self.problem(device, "the hub shows an older state than before (rollback)"));
                state.proofs.extend(seen.proof().map(|proof| (device.clone(), proof)));
            }
        }
        let own = self.device.id.to_string();
        for (by, head) in heads.iter().filter(|(by, _)| **by != own) {
            if head.seen.get(&own).is_some_and(|reach| reach.is_after(&state.sealed)) {
                problems.push(format!(
                    "{} says that it has read more of this device than it wrote; ignored",
                    self.name(by)
                ));
            }
            for (device, reach) in head.seen.iter().filter(|(device, _)| **device != own) {
                if heads.get(device).is_some_and(|shown| reach.is_after(&shown.reach)) {
                    problems.push(self.problem(device, withheld(&self.name(by))));
                }
            }
        }
        problems.extend(heads.iter().filter_map(|(by, head)| self.clock(by, head, heads, state)));
    }

    /// Whether a device's clock is off: by ours, or because it has seen what another wrote later.
    fn clock(&self, device: &str, head: &Head, heads: &StreamHeads, state: &StreamState) -> Option<String> {
        let (ahead, behind) = (head.at.since(self.wall), self.behind(head, heads, state));
        let (difference, direction) = match () {
            () if ahead > CLOCK_MAX => (ahead, "ahead"),
            () if behind > Duration::ZERO => (behind, "behind"),
            () => return None,
        };
        Some(self.problem(device, format!("its clock is {} days {direction}", difference.as_secs() / 86_400)))
    }

    /// How far the clock of whoever wrote a head was behind: it has seen what another device wrote later. Less than a day
    /// is nothing.
    pub(super) fn behind(&self, head: &Head, heads: &StreamHeads, state: &StreamState) -> Duration {
        let later = head.seen.iter().flat_map(|(other, reach)| {
            let shown = heads.get(other).map(|shown| (&shown.reach, shown.at));
            let known = state.seen.get(other).map(|seen| (&seen.reach, seen.at));
            let before =
                [shown, known].into_iter().flatten().filter(|(then, at)| !then.is_after(reach) && *at <= self.wall);
            before.map(|(_, at)| at.since(head.at))
        });
        later.max().filter(|behind| *behind > CLOCK_MAX).unwrap_or_default()
    }
}
