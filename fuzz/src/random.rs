//! Numbers that look random and are the same for the same seed. No dependency, no entropy.

pub struct Random {
    state: u64,
}

impl Random {
    pub fn new(seed: u64) -> Random {
        // A generator of this kind never leaves zero.
        Random { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 }
    }

    pub fn number(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Below `end`; zero when there is nothing below it.
    pub fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { (self.number() >> 11) as usize % end }
    }

    pub fn one_of<'a, T>(&mut self, list: &'a [T]) -> Option<&'a T> {
        list.get(self.below(list.len()))
    }
}
