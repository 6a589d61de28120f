//! Requests to end the loop: the first ends it after the iteration, the second at once.

use std::sync::atomic::{AtomicU8, Ordering};

use super::ledger::RunnerRequest;

const ASKED: u8 = 1;
const NOW: u8 = 2;

#[derive(Debug, Default)]
pub struct Interrupts(AtomicU8);

impl Interrupts {
    /// Each call makes the request more urgent.
    pub fn ask(&self) {
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |level| Some((level + 1).min(NOW)));
    }

    pub fn ask_now(&self) {
        self.0.store(NOW, Ordering::Relaxed);
    }

    /// Follows a request from another terminal. Repeating it does not make it more urgent.
    pub fn follow(&self, request: RunnerRequest) {
        let level = match request {
            RunnerRequest::Stop => ASKED,
            RunnerRequest::StopNow => NOW,
        };
        self.0.fetch_max(level, Ordering::Relaxed);
    }

    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= ASKED
    }

    pub fn is_now(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= NOW
    }
}
