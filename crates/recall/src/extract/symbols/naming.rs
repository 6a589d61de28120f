//! Reads names from the nodes of a syntax tree.
//!
//! Looks at a node and a few below it, never at the whole tree; every descent is bounded.

use tree_sitter::Node;

use super::tables::{NameIn, When};
use super::{Role, normalized};

/// The maximum nesting of declarators: `int (*(*f)(void))[3]` is as deep as it gets in practice.
const DECLARATORS_MAX: usize = 12;

/// Functions that wrap a component or a callback, which is then known by the assigned name.
const WRAPPERS: [&str; 10] = [
    "memo",
    "forwardRef",
    "lazy",
    "observer",
    "useCallback",
    "debounce",
    "throttle",
    "defineComponent",
    "cache",
    "asyncHandler",
];

pub(super) fn text<'a>(node: Node, source: &'a str) -> &'a str {
    source.get(node.byte_range()).unwrap_or_default()
}

/// The name that `node` defines, with its parts separated by dots.
pub(super) fn name_of(node: Node, name: NameIn, source: &str) -> Option<String> {
    match name {
        NameIn::Field(field) => match node.child_by_field_name(field)? {
            name if name.kind() == "string" => key(name, source),
            // Ruby: `def ==(other)`.
            name if name.kind() == "operator" => Some(text(name, source).to_string()),
            name => normalized(text(name, source)),
        },
        NameIn::Declarator => declared(node, source).map(|(name, _)| name),
        NameIn::Prototype => declared(node, source).and_then(|(name, is_function)| is_function.then_some(name)),
        NameIn::Typedef => typedef(node, source),
        NameIn::Receiver => {
            let name = normalized(text(node.child_by_field_name("name")?, source))?;
            let receiver = node.child_by_field_name("receiver")?.named_child(0)?;
            match base_type(receiver.child_by_field_name("type")?, source) {
                Some(container) => Some(format!("{container}.{name}")),
                None => Some(name),
            }
        }
        NameIn::ImplFor => base_type(node.child_by_field_name("type")?, source),
    }
}

/// A quoted key. A key that needs its quotes is a path or a sentence.
fn key(node: Node, source: &str) -> Option<String> {
    let key = text(node, source).trim_matches(['"', '\'']);
    let is_name = key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '-'));
    if is_name { normalized(key) } else { None }
}

pub(super) fn holds(node: Node, when: When, innermost: Option<Role>) -> bool {
    match when {
        When::Always => true,
        When::HasBody => node.child_by_field_name("body").is_some(),
        When::Computes => computes(node),
        When::InNothing => innermost.is_none(),
        When::InType => innermost == Some(Role::Type),
        When::InObject => innermost == Some(Role::Object),
        When::NotInFunction => innermost != Some(Role::Function),
    }
}

/// The name of a type, without its generics, references and path.
fn base_type(mut node: Node, source: &str) -> Option<String> {
    for _ in 0..DECLARATORS_MAX {
        let inner = match node.kind() {
            "type_identifier" | "primitive_type" => return normalized(text(node, source)),
            "scoped_type_identifier" => node.child_by_field_name("name"),
            "generic_type" | "reference_type" => node.child_by_field_name("type"),
            "dynamic_type" => node.child_by_field_name("trait"),
            "pointer_type" => node.child_by_field_name("type").or(node.named_child(0)),
            "parenthesized_type" => node.named_child(0),
            _ => None,
        };
        node = inner?;
    }
    None
}

/// The name inside a declarator, and whether it declares a function rather than a pointer to one.
fn declared(node: Node, source: &str) -> Option<(String, bool)> {
    let mut at = node.child_by_field_name("declarator")?;
    let mut is_function = false;
    for _ in 0..DECLARATORS_MAX {
        at = match at.kind() {
            "identifier"
            | "field_identifier"
            | "type_identifier"
            | "qualified_identifier"
            | "destructor_name"
            | "operator_name"
            | "template_function"
            | "template_method" => {
                let name = normalized(text(at, source))?;
                return (!is_control(&name)).then_some((name, is_function));
            }
            "operator_cast" => return Some(("operator".to_string(), true)),
            "function_declarator" => {
                is_function = true;
                at.child_by_field_name("declarator")?
            }
            "parenthesized_declarator" => {
                is_function = false;
                at.named_child(0)?
            }
            _ => at.child_by_field_name("declarator").or(at.named_child(0))?,
        };
    }
    None
}

/// Where a macro confuses the grammar, a statement may look like a definition.
fn is_control(name: &str) -> bool {
    matches!(name, "if" | "for" | "while" | "switch" | "return" | "do" | "else" | "sizeof" | "case" | "defined")
}

/// `typedef struct { … } Name;`. A struct with its own name keeps that name.
fn typedef(node: Node, source: &str) -> Option<String> {
    let aliased = node.child_by_field_name("type")?;
    let is_structure = matches!(aliased.kind(), "struct_specifier" | "union_specifier" | "enum_specifier");
    let is_nameless = aliased.child_by_field_name("name").is_none() && aliased.child_by_field_name("body").is_some();
    if !is_structure || !is_nameless {
        return None;
    }
    declared(node, source).map(|(name, _)| name)
}

fn computes(property: Node) -> bool {
    let value = property.child_by_field_name("value");
    if value.is_some_and(|value| value.kind() == "arrow_expression_clause") {
        return true;
    }
    let Some(accessors) = property.child_by_field_name("accessors") else {
        return false;
    };
    let mut cursor = accessors.walk();
    accessors.named_children(&mut cursor).any(|accessor| accessor.child_by_field_name("body").is_some())
}

/// The role that a value gives to the name it is assigned to, and the node that defines it.
pub(super) fn role_of_value<'t>(value: Node<'t>, source: &str) -> Option<(Role, Node<'t>)> {
    let mut value = value;
    for _ in 0..DECLARATORS_MAX {
        match value.kind() {
            "arrow_function" | "function_expression" | "generator_function" => return Some((Role::Function, value)),
            "class" => return Some((Role::Type, value)),
            "object" | "new_expression" => return Some((Role::Object, value)),
            "call_expression" => {
                let called = text(value.child_by_field_name("function")?, source);
                let called = called.rsplit('.').next()?.split('<').next()?;
                let first = value.child_by_field_name("arguments")?.named_child(0);
                if !WRAPPERS.contains(&called) {
                    return Some((Role::Object, value));
                }
                value = first?;
            }
            "parenthesized_expression" | "as_expression" | "satisfies_expression" | "await_expression" => {
                value = value.named_child(0)?;
            }
            _ => return None,
        }
    }
    None
}

/// The name on the left of an assignment: `name`, `Foo.prototype.name`, `exports.name`, `'name'`.
pub(super) fn assigned_name(target: Node, source: &str) -> Option<String> {
    match target.kind() {
        "identifier" | "property_identifier" | "private_property_identifier" | "computed_property_name" => {
            normalized(text(target, source))
        }
        "string" => key(target, source),
        "member_expression" => {
            let whole = text(target, source);
            if whole == "module.exports"
                || !whole.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '.' | '#'))
            {
                return None;
            }
            let parts: Vec<&str> = whole
                .split('.')
                .filter(|part| {
                    !matches!(*part, "this" | "prototype" | "exports" | "module" | "window" | "globalThis" | "self")
                })
                .collect();
            normalized(&parts.join("."))
        }
        _ => None,
    }
}
