//! Does the same for many things, several at a time: on a slow line it counts how often somebody waits for it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// How many are done at the same time.
pub const AT_ONCE_MAX: usize = 16;

/// The results in the order of the jobs, or the first error. After an error no job is begun.
pub fn each<J: Sync, T: Send, E: Send>(jobs: &[J], work: impl Fn(&J) -> Result<T, E> + Sync) -> Result<Vec<T>, E> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(jobs.len())));
    let run = || {
        while let Some((index, job)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, jobs.get(at)?)))
        {
            let result = work(job);
            if result.is_err() {
                next.store(jobs.len(), Ordering::Relaxed);
            }
            done.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..jobs.len().min(AT_ONCE_MAX) {
            scope.spawn(run);
        }
        run();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order_and_an_error_ends_it() {
        let jobs: Vec<usize> = (0..100).collect();
        let doubled: Result<Vec<usize>, ()> = each(&jobs, |job| Ok(job * 2));
        assert_eq!(doubled, Ok((0..200).step_by(2).collect()));
        let failed: Result<Vec<usize>, usize> = each(&jobs, |job| if *job == 40 { Err(*job) } else { Ok(*job) });
        assert_eq!(failed, Err(40));
        assert_eq!(each(&[], |job: &usize| Err::<(), usize>(*job)), Ok(Vec::new()));
    }
}
