//! Exclusive XML Canonicalization 1.0 without comments.

use roxmltree::{Attribute, Node, NodeId};

use super::Element;
use super::document::XML;

/// Returns the canonical form of an element and its content, as UTF-8.
///
/// `inclusive_prefixes` is the `PrefixList` of `InclusiveNamespaces`, with an empty prefix for
/// `#default`; `without` the signature that the enveloped-signature transform removes.
pub(super) fn canonicalize(
    element: Node<'_, '_>,
    inclusive_prefixes: &[&str],
    without: Option<NodeId>,
) -> String {
    let source = element.document().input_text();
    let mut writer = Writer {
        source,
        inclusive_prefixes,
        without,
        rendered: Vec::new(),
        out: String::with_capacity(element.range().len() + 256),
    };
    writer.element(element);
    writer.out
}

impl<Trust> Element<'_, Trust> {
    /// Returns the canonical form, for a signature of the hub.
    pub(crate) fn to_canonical(self) -> String {
        canonicalize(self.node, &[], None)
    }
}

struct Writer<'a> {
    source: &'a str,
    inclusive_prefixes: &'a [&'a str],
    without: Option<NodeId>,
    /// Namespace declarations that the open elements of the output have: prefix and URI.
    rendered: Vec<(&'a str, &'a str)>,
    out: String,
}

impl<'a> Writer<'a> {
    /// The depth is bounded by [`super::Limits::depth`].
    fn element(&mut self, node: Node<'a, 'a>) {
        let outer_declarations = self.rendered.len();
        let prefix = prefix_at(self.source, node.range().start + 1);
        self.out.push('<');
        self.qname(prefix, node.tag_name().name());
        self.namespaces(node, prefix);
        self.attributes(node);
        self.out.push('>');
        for child in node.children() {
            if Some(child.id()) == self.without {
                continue;
            }
            if child.is_element() {
                self.element(child);
            } else if child.is_text() {
                self.escaped(child.text().unwrap_or_default(), text_escape);
            }
        }
        self.out.push_str("</");
        self.qname(prefix, node.tag_name().name());
        self.out.push('>');
        self.rendered.truncate(outer_declarations);
    }

    /// Writes the declarations of the prefixes that the element or its attributes use, or that are
    /// listed, unless an open element of the output has the same (Exclusive XML Canonicalization
    /// §3).
    fn namespaces(&mut self, node: Node<'a, 'a>, element_prefix: &'a str) {
        let mut prefixes = vec![element_prefix];
        let of_attributes = node.attributes().filter(|a| a.namespace().is_some_and(|n| n != XML));
        prefixes.extend(of_attributes.map(|a| self.attribute_prefix(&a)));
        let in_scope = |prefix: &&str| is_in_scope(node, prefix);
        prefixes.extend(self.inclusive_prefixes.iter().copied().filter(in_scope));
        prefixes.sort_unstable();
        prefixes.dedup();
        for prefix in prefixes {
            let uri = node.lookup_namespace_uri(Some(prefix).filter(|p| !p.is_empty()));
            let uri = uri.unwrap_or_default();
            let rendered = self.rendered.iter().rev().find(|(rendered, _)| *rendered == prefix);
            if rendered.map_or("", |(_, uri)| uri) == uri {
                continue;
            }
            self.out.push_str(if prefix.is_empty() { " xmlns" } else { " xmlns:" });
            self.out.push_str(prefix);
            self.value(uri);
            self.rendered.push((prefix, uri));
        }
    }

    /// Writes the attributes in the order of their namespace and name.
    fn attributes(&mut self, node: Node<'a, 'a>) {
        let mut attributes: Vec<Attribute<'a, 'a>> = node.attributes().collect();
        attributes.sort_unstable_by_key(|a| (a.namespace().unwrap_or_default(), a.name()));
        for attribute in attributes {
            self.out.push(' ');
            self.qname(self.attribute_prefix(&attribute), attribute.name());
            self.value(attribute.value());
        }
    }

    fn attribute_prefix(&self, attribute: &Attribute<'a, 'a>) -> &'a str {
        prefix_at(self.source, attribute.range().start)
    }

    fn qname(&mut self, prefix: &str, name: &str) {
        if !prefix.is_empty() {
            self.out.push_str(prefix);
            self.out.push(':');
        }
        self.out.push_str(name);
    }

    fn value(&mut self, value: &str) {
        self.out.push_str("=\"");
        self.escaped(value, attribute_escape);
        self.out.push('"');
    }

    fn escaped(&mut self, text: &str, escape: fn(char) -> Option<&'static str>) {
        for character in text.chars() {
            match escape(character) {
                Some(reference) => self.out.push_str(reference),
                None => self.out.push(character),
            }
        }
    }
}

/// Escapes text (Canonical XML 1.0 §2.3).
fn text_escape(character: char) -> Option<&'static str> {
    match character {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '\r' => Some("&#xD;"),
        _ => None,
    }
}

/// Escapes an attribute's value (Canonical XML 1.0 §2.3).
fn attribute_escape(character: char) -> Option<&'static str> {
    match character {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '"' => Some("&quot;"),
        '\t' => Some("&#x9;"),
        '\n' => Some("&#xA;"),
        '\r' => Some("&#xD;"),
        _ => None,
    }
}

/// Escapes a value for an attribute in double quotes, or for text.
pub(crate) fn escape_attribute(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for character in value.chars() {
        match attribute_escape(character) {
            Some(reference) => escaped.push_str(reference),
            // `]]>` can't stand in text.
            None if character == '>' => escaped.push_str("&gt;"),
            None => escaped.push(character),
        }
    }
    escaped
}

fn is_in_scope(node: Node<'_, '_>, prefix: &str) -> bool {
    prefix.is_empty() || node.lookup_namespace_uri(Some(prefix)).is_some()
}

/// Returns the prefix of the name at this place of the source, which the tree does not keep.
fn prefix_at(source: &str, start: usize) -> &str {
    let name = source.get(start..).unwrap_or_default();
    let is_end = |c: char| matches!(c, ':' | '=' | '/' | '>') || c.is_ascii_whitespace();
    match name.split_once(is_end) {
        Some((prefix, rest)) if is_followed_by_colon(name, prefix, rest) => prefix,
        _ => "",
    }
}

fn is_followed_by_colon(name: &str, prefix: &str, rest: &str) -> bool {
    name.get(prefix.len()..name.len() - rest.len()) == Some(":")
}
