//! How definitions look at the beginning of their line: one small table per language.
//!
//! Words only. `headers.rs` reads lines with them; `lines.rs` finds what encloses what.

use super::Language;

/// What a line may begin with in one language.
pub(super) struct Patterns {
    /// Words before a function's name.
    pub functions: &'static [&'static str],
    /// Words before a type's name.
    pub types: &'static [&'static str],
    /// Words that extend an existing type.
    pub reopens: &'static [&'static str],
    /// Words that may precede those.
    pub modifiers: &'static str,
    /// The shapes of functions without a keyword.
    pub shapes: &'static [DefinitionShape],
    /// Functions whose keyword is their name: `init(…)`.
    pub bare: &'static [&'static str],
    /// What begins a line comment.
    pub comments: &'static [&'static str],
    /// What begins a line that belongs to the definition below it.
    pub attributes: &'static [&'static str],
    /// Quotes that may span several lines.
    pub quotes: &'static [&'static str],
    pub extent: Extent,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum DefinitionShape {
    /// `Type name(args) {`, not inside a function.
    Typed,
    /// `name(args) {` inside a type.
    Method,
    /// `name() {` anywhere.
    Shell,
    /// `const name = (args) =>`, `a.b = function`, and `name: function` inside an object.
    Arrow,
    /// `name <- function`, `name = function`.
    Assigned,
    /// `const Name = struct {`.
    ConstType,
    /// `name(args) = expression`.
    Equation,
    /// `Type Name => expression`, or `Type Name` with a brace below it, inside a type.
    Property,
}

/// How the end of a definition is found.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Extent {
    /// By indentation: up to a line that is no deeper than the first.
    Indent,
    /// Up to the end of the statement.
    Statement,
    /// By indentation; a `package` extends to the next one.
    Package,
}

const C_COMMENTS: &[&str] = &["//", "/*", "*"];
const HASH: &[&str] = &["#"];

const BASE: Patterns = Patterns {
    functions: &[],
    types: &[],
    reopens: &[],
    modifiers: "",
    shapes: &[],
    bare: &[],
    comments: C_COMMENTS,
    attributes: &["@"],
    quotes: &[],
    extent: Extent::Indent,
};

const RUST: Patterns = Patterns {
    functions: &["fn", "macro_rules!"],
    types: &["struct", "enum", "trait", "union", "type"],
    reopens: &["impl"],
    modifiers: "pub async unsafe const extern default \"C\"",
    attributes: &["#["],
    ..BASE
};

const PYTHON: Patterns = Patterns {
    functions: &["def"],
    types: &["class"],
    modifiers: "async",
    comments: HASH,
    quotes: &["\"\"\"", "'''"],
    ..BASE
};

const JAVASCRIPT: Patterns = Patterns {
    functions: &["function"],
    types: &["class", "interface", "enum", "type"],
    modifiers: "export default async const let var static public private protected readonly abstract declare override \
         get set",
    shapes: &[DefinitionShape::Arrow, DefinitionShape::Method],
    quotes: &["`"],
    ..BASE
};

const GO: Patterns = Patterns { functions: &["func"], types: &["type"], quotes: &["`"], ..BASE };

const JAVA: Patterns = Patterns {
    types: &["class", "interface", "enum", "record", "@interface"],
    modifiers: "public private protected static final abstract sealed non-sealed default synchronized native strictfp",
    shapes: &[DefinitionShape::Typed],
    quotes: &["\"\"\""],
    ..BASE
};

const C: Patterns = Patterns {
    types: &["struct", "union", "enum"],
    modifiers: "static inline extern const typedef",
    shapes: &[DefinitionShape::Typed],
    ..BASE
};

const CPP: Patterns = Patterns {
    types: &["class", "struct", "union", "enum", "concept"],
    // `enum class Name`: the second word announces it.
    modifiers: "static inline extern const constexpr virtual explicit friend typedef enum",
    shapes: &[DefinitionShape::Typed],
    attributes: &["[[", "template"],
    ..BASE
};

const C_SHARP: Patterns = Patterns {
    types: &["class", "struct", "interface", "enum", "record"],
    modifiers: "public private protected internal static sealed abstract partial readonly virtual override async unsafe \
         new extern ref",
    shapes: &[DefinitionShape::Typed, DefinitionShape::Property],
    attributes: &["["],
    ..BASE
};

const RUBY: Patterns = Patterns {
    functions: &["def"],
    types: &["class", "module"],
    modifiers: "private protected public private_class_method memoize",
    comments: HASH,
    ..BASE
};

const PHP: Patterns = Patterns {
    functions: &["function"],
    types: &["class", "interface", "trait", "enum"],
    modifiers: "public private protected static final abstract readonly <?php",
    comments: &["//", "/*", "*", "# "],
    attributes: &["#["],
    ..BASE
};

const BASH: Patterns = Patterns { functions: &["function"], shapes: &[DefinitionShape::Shell], comments: HASH, ..BASE };

const KOTLIN: Patterns = Patterns {
    functions: &["fun"],
    types: &["class", "interface", "object"],
    modifiers: "public private protected internal open abstract final sealed data inline value enum annotation inner \
         companion override suspend operator infix tailrec external expect actual",
    quotes: &["\"\"\""],
    ..BASE
};

const SWIFT: Patterns = Patterns {
    functions: &["func"],
    types: &["class", "struct", "enum", "protocol", "actor"],
    reopens: &["extension"],
    modifiers: "public private fileprivate internal open static class final override mutating nonmutating required \
         convenience indirect lazy nonisolated isolated async",
    bare: &["init", "init?", "deinit", "subscript"],
    quotes: &["\"\"\""],
    ..BASE
};

const SCALA: Patterns = Patterns {
    functions: &["def"],
    types: &["class", "object", "trait", "enum"],
    modifiers: "private protected override final sealed abstract implicit lazy case inline given transparent opaque \
         package",
    quotes: &["\"\"\""],
    ..BASE
};

const LUA: Patterns = Patterns {
    functions: &["function"],
    modifiers: "local",
    shapes: &[DefinitionShape::Assigned],
    comments: &["--"],
    ..BASE
};

const ELIXIR: Patterns = Patterns {
    functions: &["def", "defp", "defmacro", "defmacrop", "defguard", "defguardp", "defdelegate"],
    types: &["defmodule", "defprotocol"],
    reopens: &["defimpl"],
    comments: HASH,
    quotes: &["\"\"\""],
    ..BASE
};

const ZIG: Patterns = Patterns {
    functions: &["fn"],
    modifiers: "pub export extern inline noinline const \"C\"",
    shapes: &[DefinitionShape::ConstType],
    comments: &["//"],
    attributes: &[],
    ..BASE
};

const DART: Patterns = Patterns {
    types: &["class", "mixin", "enum", "typedef"],
    reopens: &["extension"],
    modifiers: "abstract base final sealed interface static external const factory get",
    shapes: &[DefinitionShape::Typed],
    quotes: &["\"\"\"", "'''"],
    ..BASE
};

const PERL: Patterns = Patterns {
    functions: &["sub", "method"],
    types: &["package", "class"],
    comments: HASH,
    extent: Extent::Package,
    ..BASE
};

const R: Patterns = Patterns { shapes: &[DefinitionShape::Assigned], comments: HASH, ..BASE };

const JULIA: Patterns = Patterns {
    functions: &["function", "macro"],
    types: &["struct"],
    modifiers: "mutable abstract primitive type @inline @noinline",
    shapes: &[DefinitionShape::Equation],
    comments: HASH,
    quotes: &["\"\"\""],
    ..BASE
};

const SQL: Patterns = Patterns {
    functions: &["function", "procedure", "trigger"],
    types: &["table", "view", "type"],
    modifiers: "create or replace temp temporary unlogged materialized if not exists alter definer external global \
         constraint",
    comments: &["--", "/*", "*"],
    attributes: &[],
    extent: Extent::Statement,
    ..BASE
};

pub(super) fn of(language: Language) -> &'static Patterns {
    match language {
        Language::Bash => &BASH,
        Language::C => &C,
        Language::Cpp => &CPP,
        Language::CSharp => &C_SHARP,
        Language::Dart => &DART,
        Language::Elixir => &ELIXIR,
        Language::Go => &GO,
        Language::Java => &JAVA,
        Language::JavaScript | Language::Tsx | Language::TypeScript | Language::Vue | Language::Svelte => &JAVASCRIPT,
        Language::Julia => &JULIA,
        Language::Kotlin => &KOTLIN,
        Language::Lua => &LUA,
        Language::Perl => &PERL,
        Language::Php => &PHP,
        Language::Python => &PYTHON,
        Language::R => &R,
        Language::Ruby => &RUBY,
        Language::Rust => &RUST,
        Language::Scala => &SCALA,
        Language::Sql => &SQL,
        Language::Swift => &SWIFT,
        Language::Zig => &ZIG,
    }
}
