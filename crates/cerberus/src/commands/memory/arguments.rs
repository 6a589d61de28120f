//! Arguments that several commands for memories have.

use std::str::FromStr;

use cerberus_record::memory::Scope;
use cerberus_record::source::MemorySource;
use cerberus_store::same_project::joined::joined;
use cerberus_store::view::Store;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::context::Context;
use crate::failure::Result;

/// A scope on the command line. `project` alone is the current project.
#[derive(Clone, Debug)]
pub enum ScopeArgument {
    ThisProject,
    Given(Scope),
}

impl FromStr for ScopeArgument {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<ScopeArgument, String> {
        match Scope::parse(text) {
            Some(scope) => Ok(ScopeArgument::Given(scope)),
            None if text == "project" => Ok(ScopeArgument::ThisProject),
            None => Err("write universal, language:NAME, project:NAME, or project for this one".to_string()),
        }
    }
}

impl ScopeArgument {
    pub fn resolve(self, project: &str) -> Scope {
        match self {
            ScopeArgument::ThisProject => Scope::Project(project.to_string()),
            ScopeArgument::Given(scope) => scope,
        }
    }
}

/// A source on the command line.
pub(super) fn sources() -> impl TypedValueParser<Value = MemorySource> {
    PossibleValuesParser::new(
        MemorySource::ALL.map(MemorySource::word).into_iter().chain([MemorySource::Unknown.word()]),
    )
    .map(|word| MemorySource::named(&word))
}

/// All scopes that match the given one. The current project may have other names in other folders.
pub(super) fn scopes(context: &Context, store: &Store, scope: Option<&str>) -> Result<Vec<String>> {
    let Some(scope) = scope else { return Ok(Vec::new()) };
    let own = joined(store, &context.located(), context.clock.now)?.scopes();
    Ok(if own.iter().any(|own| own == scope) { own } else { vec![scope.to_string()] })
}
