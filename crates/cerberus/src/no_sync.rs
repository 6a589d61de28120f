//! A program without sync: nothing leaves, and there is nothing to say about it.

use cerberus_store::view::{SessionRow, Store};
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::Result;

pub fn after_forget(_: &Context) -> Result<()> {
    Ok(())
}

pub fn lines(_: &Context, _: &Store) -> Vec<(&'static str, String)> {
    Vec::new()
}

pub fn json_of(_: &Context, _: &Store) -> Value {
    json!([])
}

pub fn destinations(_: &Context) -> Vec<String> {
    Vec::new()
}

pub fn checks(_: &Context, _: &Store) -> Vec<(bool, String, &'static str)> {
    Vec::new()
}

pub fn fetch(_: &Context, _: &Store, _: &SessionRow) -> Result<Option<Vec<String>>> {
    Ok(None)
}
