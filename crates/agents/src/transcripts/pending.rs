//! Calls of a transcript whose answer has not been read yet.

use std::collections::VecDeque;

/// How many calls may wait for their answer, and how long they may be together. The oldest go first.
const PENDING_MAX: usize = 4_096;
const PENDING_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Calls that have no answer yet, oldest first.
pub(crate) struct Pending<T> {
    calls: VecDeque<(String, usize, T)>,
    bytes: usize,
}

impl<T> Default for Pending<T> {
    fn default() -> Self {
        Pending { calls: VecDeque::new(), bytes: 0 }
    }
}

impl<T> Pending<T> {
    /// `bytes` is what the call holds.
    pub(crate) fn insert(&mut self, id: &str, bytes: usize, call: T) {
        self.remove(id);
        self.calls.push_back((id.to_string(), bytes, call));
        self.bytes += bytes;
        while self.calls.len() > PENDING_MAX || self.bytes > PENDING_BYTES_MAX && self.calls.len() > 1 {
            self.bytes -= self.calls.pop_front().map_or(0, |(_, bytes, _)| bytes);
        }
    }

    pub(crate) fn remove(&mut self, id: &str) -> Option<T> {
        let at = self.calls.iter().rposition(|(known, ..)| known == id)?;
        let (_, bytes, call) = self.calls.remove(at)?;
        self.bytes -= bytes;
        Some(call)
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = (&str, &mut T)> {
        self.calls.iter_mut().map(|(id, _, call)| (id.as_str(), call))
    }

    /// All of them; none is left.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = (String, T)> + use<T> {
        self.bytes = 0;
        std::mem::take(&mut self.calls).into_iter().map(|(id, _, call)| (id, call))
    }
}
