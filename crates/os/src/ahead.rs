//! Work that runs ahead on other threads, while what it gives is taken in order on this one.
//!
//! Whatever the number of threads, the pieces arrive in the same order. How far the threads run ahead is limited, so
//! memory is too; before a large piece, a thread waits until it is the only one that has any. A panic of a thread ends the
//! caller.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// More threads than this only wait for the one that takes.
const WORKERS_MAX: usize = 4;

/// How many pieces of one job may wait.
const WAITING_MAX: usize = 1;

/// How many threads run ahead on this machine.
pub fn workers() -> usize {
    thread::available_parallelism().map_or(1, usize::from).min(WORKERS_MAX)
}

/// Where the pieces of one job go.
pub struct Pieces<'a, P> {
    job: usize,
    given: usize,
    to: SyncSender<P>,
    taken: &'a Taken,
}

impl<P> Pieces<'_, P> {
    /// Passes on the next piece. `false`: nobody takes it, nor any that follows.
    pub fn give(&mut self, piece: P) -> bool {
        self.given += 1;
        self.to.send(piece).is_ok()
    }

    /// Waits until everything is done with that was given, of this job and those before it: what comes next is large.
    /// `false`: nobody would take it.
    pub fn wait_until_taken(&self) -> bool {
        let must_wait = |at: &mut TakenTo| at.job < self.job || at.job == self.job && at.wanted <= self.given;
        let at = self.taken.changed.wait_while(self.taken.lock(), must_wait);
        at.unwrap_or_else(PoisonError::into_inner).job == self.job
    }
}

/// How far the pieces were taken.
#[derive(Default)]
struct Taken {
    at: Mutex<TakenTo>,
    changed: Condvar,
}

#[derive(Default)]
struct TakenTo {
    job: usize,
    /// How many pieces of the job were asked for. Of those, all but the last are done with.
    wanted: usize,
}

impl Taken {
    fn lock(&self) -> MutexGuard<'_, TakenTo> {
        self.at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, job: usize) {
        *self.lock() = TakenTo { job, wanted: 0 };
        self.changed.notify_all();
    }

    fn want(&self) {
        self.lock().wanted += 1;
        self.changed.notify_all();
    }
}

/// Ends the waiting of all threads, however the one that takes ends.
struct TakesUntilDropped<'a>(&'a Taken);

impl Drop for TakesUntilDropped<'_> {
    fn drop(&mut self) {
        self.0.begin(usize::MAX);
    }
}

/// Does the jobs on `workers` threads. `work` passes on the pieces of one job until it is told that nobody takes them any
/// more; `take` gets each job with its pieces, in the order of the jobs.
pub fn ahead<J, P, E, W, T>(workers: usize, jobs: &[J], work: &W, take: &mut T) -> Result<(), E>
where
    J: Sync,
    P: Send,
    W: Fn(&J, &mut Pieces<'_, P>) + Sync,
    T: FnMut(&J, &mut dyn Iterator<Item = P>) -> Result<(), E>,
{
    let (begin, begun) = sync_channel::<(usize, &J, SyncSender<P>)>(jobs.len().max(1));
    let (begun, taken) = (Mutex::new(begun), Taken::default());
    thread::scope(|scope| {
        for _ in 0..workers.clamp(1, jobs.len().max(1)) {
            scope.spawn(|| {
                while let Some((job, of, to)) = next(&begun) {
                    work(of, &mut Pieces { job, given: 0, to, taken: &taken });
                }
            });
        }
        // Both are dropped at the end, whatever that is: the threads wait for more until then.
        let (begin, takes) = (begin, TakesUntilDropped(&taken));
        let mut waiting = VecDeque::new();
        let mut rest = jobs.iter().enumerate();
        for (number, job) in jobs.iter().enumerate() {
            while waiting.len() <= workers
                && let Some((number, next)) = rest.next()
            {
                let (to, pieces) = sync_channel(WAITING_MAX);
                waiting.push_back(pieces);
                // Never fails: the receiver outlives the scope.
                let _ = begin.send((number, next, to));
            }
            takes.0.begin(number);
            let pieces: Option<Receiver<P>> = waiting.pop_front();
            let mut next_piece = || {
                taken.want();
                pieces.as_ref()?.recv().ok()
            };
            take(job, &mut std::iter::from_fn(&mut next_piece))?;
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
    fn count(job: &usize, pieces: &mut Pieces<'_, usize>) {
        (0..*job).all(|piece| pieces.give(piece));
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
        let work = |job: &usize, pieces: &mut Pieces<'_, usize>| {
            (0..*job).all(|piece| {
                made.fetch_add(1, Ordering::SeqCst);
                pieces.give(piece)
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
    fn a_large_piece_is_the_only_one() {
        let larges = AtomicUsize::new(0);
        let is_large = |piece: usize| piece % 3 == 2;
        let work = |job: &usize, pieces: &mut Pieces<'_, usize>| {
            for piece in 0..*job {
                if is_large(piece) && !pieces.wait_until_taken() {
                    break;
                }
                if is_large(piece) {
                    assert_eq!(larges.fetch_add(1, Ordering::SeqCst), 0);
                }
                if !pieces.give(piece) {
                    break;
                }
            }
        };
        for (workers, taken_max) in [(1, 99), (3, 99), (3, 5), (3, 0)] {
            let mut taken = 0;
            let mut take = |_: &usize, pieces: &mut dyn Iterator<Item = usize>| {
                for piece in pieces.take(taken_max) {
                    thread::yield_now();
                    taken += 1;
                    larges.fetch_sub(usize::from(is_large(piece)), Ordering::SeqCst);
                }
                Ok::<(), ()>(())
            };
            ahead(workers, &[30, 0, 20, 30], &work, &mut take).unwrap();
            assert_eq!(taken, [30, 0, 20, 30].iter().map(|job: &usize| taken_max.min(*job)).sum::<usize>());
        }
    }

    #[test]
    fn an_error_ends_the_threads_and_what_is_not_taken_is_passed_over() {
        let mut jobs_taken = 0;
        let mut take = |job: &usize, pieces: &mut dyn Iterator<Item = usize>| {
            jobs_taken += 1;
            pieces.next();
            if *job == 300 { Err("enough") } else { Ok(()) }
        };
        let work = |job: &usize, pieces: &mut Pieces<'_, usize>| {
            (0..*job).all(|piece| (piece % 50 > 0 || pieces.wait_until_taken()) && pieces.give(piece));
        };
        assert_eq!(ahead(2, &[100, 200, 300, 400, 500], &work, &mut take), Err("enough"));
        assert_eq!(jobs_taken, 3);
    }
}
