//! Which nodes of a syntax tree define something: one small table per language.
//!
//! Only node kinds and where their names are. `naming.rs` reads the name from a node; a test checks that every kind
//! exists in its grammar.

use super::Role;

/// One kind of node.
pub(super) struct Rule {
    pub kind: &'static str,
    pub means: Means,
}

#[derive(Clone, Copy)]
pub(super) enum Means {
    /// A definition.
    Defines(Role, NameIn, When),
    /// JavaScript: a name and its value (fields). The value decides what it is.
    Assigns { name: &'static str, value: &'static str, when: When },
    /// JavaScript: `export default` of something without a name.
    Default,
    /// Rust: tokens inside a macro, which are read by line patterns.
    Opaque,
    /// Belongs to the definition on the next line: a comment, an attribute, a decorator.
    Attached,
}

#[derive(Clone, Copy)]
pub(super) enum NameIn {
    Field(&'static str),
    /// C: inside the declarator.
    Declarator,
    /// C++: the same, only if it declares a function.
    Prototype,
    /// C: the declarator of a `typedef` of an anonymous struct.
    Typedef,
    /// Go: `name`, qualified by the receiver's type.
    Receiver,
    /// Rust: the type an `impl` is for.
    ImplFor,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum When {
    Always,
    HasBody,
    /// C#: a property whose accessors contain code.
    Computes,
    InNothing,
    InType,
    InObject,
    NotInFunction,
}

const fn function(kind: &'static str) -> Rule {
    named(kind, Role::Function, "name", When::Always)
}

const fn a_type(kind: &'static str) -> Rule {
    named(kind, Role::Type, "name", When::Always)
}

const fn named(kind: &'static str, role: Role, field: &'static str, when: When) -> Rule {
    defines(kind, role, NameIn::Field(field), when)
}

const fn defines(kind: &'static str, role: Role, name: NameIn, when: When) -> Rule {
    Rule { kind, means: Means::Defines(role, name, when) }
}

const fn assigns(kind: &'static str, name: &'static str, value: &'static str, when: When) -> Rule {
    Rule { kind, means: Means::Assigns { name, value, when } }
}

const fn attached(kind: &'static str) -> Rule {
    Rule { kind, means: Means::Attached }
}

pub(super) const RUST: &[Rule] = &[
    function("function_item"),
    function("function_signature_item"),
    function("macro_definition"),
    a_type("struct_item"),
    a_type("enum_item"),
    a_type("union_item"),
    a_type("trait_item"),
    named("type_item", Role::Type, "name", When::InNothing),
    defines("impl_item", Role::Extension, NameIn::ImplFor, When::Always),
    Rule { kind: "macro_invocation", means: Means::Opaque },
    attached("attribute_item"),
    attached("line_comment"),
    attached("block_comment"),
];

pub(super) const PYTHON: &[Rule] =
    &[function("function_definition"), a_type("class_definition"), attached("decorator"), attached("comment")];

pub(super) const TYPESCRIPT: &[Rule] = &[
    function("function_declaration"),
    function("generator_function_declaration"),
    function("function_signature"),
    function("function_expression"),
    function("method_definition"),
    function("abstract_method_signature"),
    a_type("class_declaration"),
    a_type("abstract_class_declaration"),
    a_type("class"),
    a_type("interface_declaration"),
    a_type("type_alias_declaration"),
    a_type("enum_declaration"),
    assigns("variable_declarator", "name", "value", When::Always),
    assigns("assignment_expression", "left", "right", When::Always),
    assigns("public_field_definition", "name", "value", When::Always),
    assigns("pair", "key", "value", When::InObject),
    Rule { kind: "export_statement", means: Means::Default },
    attached("comment"),
    attached("decorator"),
];

pub(super) const GO: &[Rule] = &[
    function("function_declaration"),
    defines("method_declaration", Role::Function, NameIn::Receiver, When::Always),
    a_type("type_spec"),
    a_type("type_alias"),
    attached("comment"),
];

pub(super) const JAVA: &[Rule] = &[
    function("method_declaration"),
    function("constructor_declaration"),
    function("compact_constructor_declaration"),
    a_type("class_declaration"),
    a_type("interface_declaration"),
    a_type("enum_declaration"),
    a_type("record_declaration"),
    a_type("annotation_type_declaration"),
    attached("line_comment"),
    attached("block_comment"),
];

pub(super) const C: &[Rule] = &[
    defines("function_definition", Role::Function, NameIn::Declarator, When::NotInFunction),
    function("preproc_function_def"),
    named("struct_specifier", Role::Type, "name", When::HasBody),
    named("union_specifier", Role::Type, "name", When::HasBody),
    named("enum_specifier", Role::Type, "name", When::HasBody),
    defines("type_definition", Role::Type, NameIn::Typedef, When::Always),
    attached("comment"),
];

pub(super) const CPP: &[Rule] = &[
    defines("function_definition", Role::Function, NameIn::Declarator, When::NotInFunction),
    defines("field_declaration", Role::Function, NameIn::Prototype, When::InType),
    defines("declaration", Role::Function, NameIn::Prototype, When::InType),
    function("preproc_function_def"),
    named("class_specifier", Role::Type, "name", When::HasBody),
    named("struct_specifier", Role::Type, "name", When::HasBody),
    named("union_specifier", Role::Type, "name", When::HasBody),
    named("enum_specifier", Role::Type, "name", When::HasBody),
    a_type("concept_definition"),
    defines("type_definition", Role::Type, NameIn::Typedef, When::Always),
    attached("template_parameter_list"),
    attached("comment"),
];

pub(super) const C_SHARP: &[Rule] = &[
    function("method_declaration"),
    function("constructor_declaration"),
    function("destructor_declaration"),
    function("local_function_statement"),
    function("delegate_declaration"),
    named("property_declaration", Role::Function, "name", When::Computes),
    a_type("class_declaration"),
    a_type("struct_declaration"),
    a_type("interface_declaration"),
    a_type("enum_declaration"),
    a_type("record_declaration"),
    attached("comment"),
];

pub(super) const RUBY: &[Rule] =
    &[function("method"), function("singleton_method"), a_type("class"), a_type("module"), attached("comment")];

pub(super) const PHP: &[Rule] = &[
    function("function_definition"),
    function("method_declaration"),
    a_type("class_declaration"),
    a_type("interface_declaration"),
    a_type("trait_declaration"),
    a_type("enum_declaration"),
    attached("comment"),
];

pub(super) const BASH: &[Rule] = &[function("function_definition"), attached("comment")];
