//! Work that runs ahead on other threads, while what it gives is taken in order on this one.
//!
//! Whatever the number of threads, the pieces arrive in the same order. How far the threads run ahead is limited, so
//! memory is too. A panic of a thread ends the caller.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// More threads than this only wait for the one that takes.
const WORKERS_MAX: usize = 4;

/// How many pieces of one job may wait.
const WAITING_MAX: usize = 1;

/// How many threads run ahead on this machine.
pub fn workers() -> usize {
    thread::available_parallelism().map_or(1, usize::from).min(WORKERS_MAX)
}

/// Does the jobs on `workers` threads. `work` passes on the pieces of one job until it is told that nobody takes them any
/// more; `take` gets each job with its pieces, in the order of the jobs.
pub fn ahead<J, P, E, W, T>(workers: usize, jobs: &[J], work: &W, take: &mut T) -> Result<(), E>
where
    J: Sync,
    P: Send,
    W: Fn(&J, &mut dyn FnMut(P) -> bool) + Sync,
    T: FnMut(&J, &mut dyn Iterator<Item = P>) -> Result<(), E>,
{
    let (begin, begun) = sync_channel::<(&J, SyncSender<P>)>(jobs.len().max(1));
    let begun = Mutex::new(begun);
    thread::scope(|scope| {
        for _ in 0..workers.clamp(1, jobs.len().max(1)) {
            scope.spawn(|| {
                while let Some((job, pieces)) = next(&begun) {
                    work(job, &mut |piece| pieces.send(piece).is_ok());
                }
            });
        }
        // Dropped at the end, whatever that is: the threads wait for more until then.
        let begin = begin;
        let mut waiting = VecDeque::new();
        let mut rest = jobs.iter();
        for job in jobs {
            while waiting.len() <= workers
                && let Some(next) = rest.next()
            {
                let (pieces, taken) = sync_channel(WAITING_MAX);
                waiting.push_back(taken);
                // Never fails: the receiver outlives the scope.
                let _ = begin.send((next, pieces));
            }
            let pieces: Option<Receiver<P>> = waiting.pop_front();
            take(job, &mut pieces.into_iter().flatten())?;
        }
        Ok(())
    })
}

fn next<T>(begun: &Mutex<Receiver<T>>) -> Option<T> {
    begun.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// The jobs are numbers; the pieces of each are the numbers below it.
    fn count(job: &usize, give: &mut dyn FnMut(usize) -> bool) {
        (0..*job).all(give);
    }

    fn taken(workers: usize, jobs: &[usize]) -> Vec<(usize, Vec<usize>)> {
        let mut found = Vec::new();
        let mut take = |job: &usize, pieces: &mut dyn Iterator<Item = usize>| {
            found.push((*job, pieces.collect()));
            Ok::<(), ()>(())
        };
        ahead(workers, jobs, &count, &mut take).unwrap();
        found
    }

    #[test]
    fn pieces_arrive_in_the_order_of_the_jobs_whatever_the_number_of_threads() {
        let jobs = [30, 0, 1, 500, 2, 2, 0, 80, 3, 1];
        let expected: Vec<(usize, Vec<usize>)> = jobs.iter().map(|job| (*job, (0..*job).collect())).collect();
        for workers in [0, 1, 2, 7] {
            assert_eq!(taken(workers, &jobs), expected, "{workers}");
        }
        assert_eq!(taken(2, &[]), []);
    }

    #[test]
    fn what_runs_ahead_is_limited() {
        let made = AtomicUsize::new(0);
        let mut taken = 0;
        let work = |job: &usize, give: &mut dyn FnMut(usize) -> bool| {
            count(job, &mut |piece| {
                made.fetch_add(1, Ordering::SeqCst);
                give(piece)
            });
        };
        let mut take = |_: &usize, pieces: &mut dyn Iterator<Item = usize>| {
            for _ in pieces {
                taken += 1;
                let ahead = made.load(Ordering::SeqCst) - taken;
                assert!(ahead <= 3 * (WAITING_MAX + 1), "{ahead} pieces are ahead");
            }
            Ok::<(), ()>(())
        };
        ahead(2, &[100; 20], &work, &mut take).unwrap();
        assert_eq!(taken, 2_000);
    }

    #[test]
    fn an_error_ends_the_threads_and_what_is_not_taken_is_passed_over() {
        let mut jobs_taken = 0;
        let mut take = |job: &usize, pieces: &mut dyn Iterator<Item = usize>| {
            jobs_taken += 1;
            pieces.next();
            if *job == 300 { Err("enough") } else { Ok(()) }
        };
        assert_eq!(ahead(2, &[100, 200, 300, 400, 500], &count, &mut take), Err("enough"));
        assert_eq!(jobs_taken, 3);
    }
}
