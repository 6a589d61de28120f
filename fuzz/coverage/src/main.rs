//! The targets of `cerberus-fuzz` under libFuzzer, which keeps every input that reaches code no other has reached.
//!
//! `CERBERUS_FUZZ_TARGET` names the target; `dev/fuzz` builds and runs this.

#![no_main]

use cerberus_fuzz::targets::{self, Check};

thread_local! {
    static CHECK: Check = check();
}

fn check() -> Check {
    let name = std::env::var("CERBERUS_FUZZ_TARGET").expect("CERBERUS_FUZZ_TARGET names a target");
    let target = targets::all().into_iter().find(|target| target.name == name).expect("the target exists");
    (target.make)().expect("the target can be set up")
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    if let Err(broken) = CHECK.with(|check| check(input)) {
        panic!("{broken}");
    }
});
