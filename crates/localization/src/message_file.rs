//! The messages of one operator's file, checked against those of the pages.

use std::sync::Arc;

use fluent_bundle::FluentResource;
use fluent_syntax::ast::{Entry, Expression, InlineExpression, Message, Pattern, PatternElement};

use super::built_in::catalogue;
use passerelle_settings::FieldDiagnostic;

/// Characters of one message: the longest built-in one has a third of it.
const MAX_MESSAGE_CHARS: usize = 2000;

/// The checked messages of one file, in one language.
#[derive(Debug)]
pub struct MessageFile {
    language: String,
    resource: Arc<FluentResource>,
}

/// A value between braces in a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Placeable<'a> {
    /// `{ $name }`.
    Variable(&'a str),
    /// What the pages don't support: a reference, a term or a function.
    Other(&'static str),
}

impl MessageFile {
    /// Checks the messages of a file whose syntax is valid.
    ///
    /// # Errors
    /// Returns every message with an unknown key, an unknown variable or an unsupported value.
    pub fn from_text(language: &str, text: String) -> Result<Self, Vec<FieldDiagnostic>> {
        let resource = FluentResource::try_new(text).unwrap_or_else(|(parsed, _)| parsed);
        let problems: Vec<FieldDiagnostic> = resource.entries().flat_map(check_entry).collect();
        if problems.is_empty() {
            Ok(Self { language: language.to_owned(), resource: Arc::new(resource) })
        } else {
            Err(problems)
        }
    }

    /// Returns the tag of the language.
    pub fn language(&self) -> &str {
        &self.language
    }

    /// Returns whether the file has a message.
    pub(super) fn contains(&self, key: &str) -> bool {
        let is_it = |entry: &Entry<&str>| matches!(entry, Entry::Message(m) if m.id.name == key);
        self.resource.entries().any(is_it)
    }

    pub(super) const fn resource(&self) -> &Arc<FluentResource> {
        &self.resource
    }
}

fn check_entry(entry: &Entry<&str>) -> Vec<FieldDiagnostic> {
    match entry {
        Entry::Message(message) => check_message(message),
        Entry::Term(term) => {
            let (key, fix) = (format!("-{}", term.id.name), "write its text into the messages");
            vec![FieldDiagnostic::new(key, "is a term, which the pages do not support", fix)]
        }
        _ => Vec::new(),
    }
}

fn check_message(message: &Message<&str>) -> Vec<FieldDiagnostic> {
    let key = message.id.name;
    let catalogue = catalogue();
    let Some(known) = catalogue.message_variables(key) else {
        let fix = "compare it with the keys of docs/languages.md";
        return vec![FieldDiagnostic::new(key, "is not a message of the pages", fix)];
    };
    let mut problems = Vec::new();
    if message.value.is_none() || !message.attributes.is_empty() {
        let fix = "write one text and no attributes: `key = text`";
        problems.push(FieldDiagnostic::new(key, "has an attribute or no text", fix));
    }
    for placeable in placeables(message) {
        match placeable {
            Placeable::Variable(name) if known.contains(name) => {}
            Placeable::Variable(name) => {
                let known: Vec<String> = known.iter().map(|name| format!("${name}")).collect();
                let fix = match known.as_slice() {
                    [] => "remove it: this message has no variable".to_owned(),
                    known => format!("use: {}", known.join(", ")),
                };
                let message = format!("uses the unknown variable ${name}");
                problems.push(FieldDiagnostic::new(key, message, fix));
            }
            Placeable::Other(kind) => problems.push(FieldDiagnostic::new(
                key,
                format!("uses {kind}, which the pages do not support"),
                "write the text itself",
            )),
        }
    }
    let text = message.value.as_ref().map(pattern_text).unwrap_or_default();
    if text.chars().count() > MAX_MESSAGE_CHARS {
        let message = format!("is longer than {MAX_MESSAGE_CHARS} characters");
        problems.push(FieldDiagnostic::new(key, message, "shorten it"));
    }
    if text.chars().any(is_forbidden) {
        let fix = "remove it; the pages isolate names from the text around them";
        problems.push(FieldDiagnostic::new(key, "contains a control character", fix));
    }
    problems
}

/// Returns whether the character may reorder or hide the text around it.
fn is_forbidden(character: char) -> bool {
    matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        || (character.is_control() && character != '\n')
}

/// Returns the values between braces of a message, its variants included.
pub(crate) fn placeables<'a>(message: &'a Message<&'a str>) -> Vec<Placeable<'a>> {
    let mut found = Vec::new();
    if let Some(pattern) = &message.value {
        collect_placeables(pattern, &mut found);
    }
    found
}

fn collect_placeables<'a>(pattern: &'a Pattern<&'a str>, found: &mut Vec<Placeable<'a>>) {
    for element in &pattern.elements {
        if let PatternElement::Placeable { expression } = element {
            collect_in_expression(expression, found);
        }
    }
}

fn collect_in_expression<'a>(expression: &'a Expression<&'a str>, found: &mut Vec<Placeable<'a>>) {
    match expression {
        Expression::Select { selector, variants } => {
            collect_inline(selector, found);
            for variant in variants {
                collect_placeables(&variant.value, found);
            }
        }
        Expression::Inline(inline) => collect_inline(inline, found),
    }
}

fn collect_inline<'a>(inline: &'a InlineExpression<&'a str>, found: &mut Vec<Placeable<'a>>) {
    match inline {
        InlineExpression::VariableReference { id } => found.push(Placeable::Variable(id.name)),
        // An escape could hide a control character.
        InlineExpression::StringLiteral { value } if value.contains('\\') => {
            found.push(Placeable::Other("an escaped character"));
        }
        InlineExpression::StringLiteral { .. } | InlineExpression::NumberLiteral { .. } => {}
        InlineExpression::FunctionReference { .. } => found.push(Placeable::Other("a function")),
        InlineExpression::MessageReference { .. } => {
            found.push(Placeable::Other("a reference to another message"));
        }
        InlineExpression::TermReference { .. } => found.push(Placeable::Other("a term")),
        InlineExpression::Placeable { expression } => collect_in_expression(expression, found),
    }
}

/// Returns the literal text of a pattern, its variants included.
fn pattern_text(pattern: &Pattern<&str>) -> String {
    let in_expression = |expression: &Expression<&str>| match expression {
        Expression::Select { variants, .. } => {
            variants.iter().map(|variant| pattern_text(&variant.value)).collect()
        }
        Expression::Inline(InlineExpression::StringLiteral { value }) => (*value).to_owned(),
        Expression::Inline(_) => String::new(),
    };
    let text = |element: &PatternElement<&str>| match element {
        PatternElement::TextElement { value } => (*value).to_owned(),
        PatternElement::Placeable { expression } => in_expression(expression),
    };
    pattern.elements.iter().map(text).collect()
}
