//! Maps and sets with a fast hash, for what is looked up thousands of times in one brief.
//!
//! The hash is seeded anew in every process, so that nobody can prepare names that collide. As with the standard maps,
//! nothing may depend on the order of iteration.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

pub type FastMap<K, V> = HashMap<K, V, RandomState>;
pub type FastSet<T> = HashSet<T, RandomState>;
