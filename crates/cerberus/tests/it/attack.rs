//! A fixed part of the red team; `cargo run -p cerberus-bench -- attack` tries everything.

use std::path::Path;

use cerberus_testkit::attack::{Attack, Class, Door, all, tried};

/// One attack of each class for every door, another one for each.
fn try_all(doors: impl Fn(Door) -> bool) {
    let binary = Path::new(env!("CARGO_BIN_EXE_cerberus"));
    let attacks = all();
    let mut count = 0;
    for (at, door) in Door::all().into_iter().enumerate().filter(|(_, door)| doors(*door)) {
        for class in Class::ALL {
            let fit: Vec<&Attack> = attacks.iter().filter(|one| one.class == class && door.takes(one)).collect();
            if !fit.is_empty() {
                count += 1;
                assert_eq!(tried(binary, door, fit[at % fit.len()]), Ok(()));
            }
        }
    }
    assert!(count > 30, "only {count} attacks were tried");
}

#[test]
fn every_class_has_attacks() {
    let attacks = all();
    for class in Class::ALL {
        assert!(attacks.iter().filter(|attack| attack.class == class).count() > 2, "{}", class.word());
    }
}

#[test]
fn no_attack_passes_a_hook() {
    try_all(|door| matches!(door, Door::Hook(_)));
}

#[test]
fn no_attack_passes_an_import() {
    try_all(|door| matches!(door, Door::Import(_)));
}

#[test]
fn no_attack_passes_another_door() {
    try_all(|door| !matches!(door, Door::Hook(_) | Door::Import(_)));
}
