//! Tells the build script of the store where these sources are: they are part of the view's version. Through cargo and not
//! through a path, because in a registry the sources of the store are not beside these.

#![allow(clippy::print_stdout, reason = "only the crate itself is pure")]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::metadata=folder={}", env!("CARGO_MANIFEST_DIR"));
}
