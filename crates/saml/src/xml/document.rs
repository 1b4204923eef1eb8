//! Parsed documents, and the difference between what anyone may have written and what was signed.

use std::collections::HashSet;
use std::marker::PhantomData;
use std::ops::Range;

use roxmltree::{Node, NodeType, ParsingOptions};

use super::DSIG;
use super::scan::{self, Limits, XmlError};

pub(super) const XML: &str = "http://www.w3.org/XML/1998/namespace";
const XINCLUDE: [&str; 2] = ["http://www.w3.org/2001/XInclude", "http://www.w3.org/2003/XInclude"];

/// Marks content that anyone may have written.
#[derive(Clone, Copy, Debug)]
pub enum Untrusted {}

/// Marks content whose canonical bytes a known key has signed, or that the operator's own file
/// holds.
#[derive(Clone, Copy, Debug)]
pub enum Verified {}

/// The text of a document that passed every check that needs no tree.
#[derive(derive_more::Debug)]
#[debug("XmlText")]
pub struct XmlText {
    text: String,
    limits: Limits,
}

impl XmlText {
    /// Reads a document.
    ///
    /// # Errors
    /// Any [`XmlError`] that needs no tree.
    pub fn read(bytes: &[u8], limits: Limits) -> Result<Self, XmlError> {
        let text = scan::normalize(bytes, &limits)?;
        scan::scan(&text, &limits)?;
        Ok(Self { text, limits })
    }

    /// Returns the text, without XML declaration.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Parses the document.
    ///
    /// # Errors
    /// Any other [`XmlError`].
    pub fn parse(&self) -> Result<XmlDocument<'_, Untrusted>, XmlError> {
        XmlDocument::parse(&self.text, &self.limits)
    }
}

/// Canonical bytes that a known key has signed.
#[derive(derive_more::Debug)]
#[debug("VerifiedXml")]
pub struct VerifiedXml(XmlText);

impl VerifiedXml {
    /// Reads what was verified; only for [`super::signature`] and [`super::encryption`].
    pub(super) fn from_verified_bytes(bytes: &[u8], limits: Limits) -> Result<Self, XmlError> {
        XmlText::read(bytes, limits).map(Self)
    }

    /// Reads a file of the operator, which needs no signature.
    ///
    /// # Errors
    /// Any [`XmlError`] that needs no tree.
    pub fn from_operators_file(bytes: &[u8], limits: Limits) -> Result<Self, XmlError> {
        XmlText::read(bytes, limits).map(Self)
    }

    /// Returns the bytes that were signed.
    pub fn as_str(&self) -> &str {
        &self.0.text
    }

    /// Parses the bytes again. There is no other way to an element of verified content.
    ///
    /// # Errors
    /// Any [`XmlError`].
    pub fn parse(&self) -> Result<XmlDocument<'_, Verified>, XmlError> {
        XmlDocument::parse(&self.0.text, &self.0.limits)
    }
}

/// A parsed document.
#[derive(derive_more::Debug)]
#[debug("XmlDocument")]
pub struct XmlDocument<'a, Trust> {
    tree: roxmltree::Document<'a>,
    limits: Limits,
    trust: PhantomData<Trust>,
}

impl<'a, Trust> XmlDocument<'a, Trust> {
    fn parse(text: &'a str, limits: &Limits) -> Result<Self, XmlError> {
        let options = ParsingOptions { nodes_limit: limits.nodes, ..ParsingOptions::default() };
        let tree = roxmltree::Document::parse_with_options(text, options);
        let tree = tree.map_err(|error| match error {
            roxmltree::Error::NodesLimitReached => XmlError::TooManyNodes,
            _ => XmlError::NotWellFormed,
        })?;
        let mut ids = HashSet::new();
        for node in tree.descendants() {
            check_node(node, limits)?;
            let named_id = |name: &str| name.eq_ignore_ascii_case("id");
            let mut values = node.attributes().filter(|attribute| named_id(attribute.name()));
            if !values.all(|attribute| ids.insert(attribute.value())) {
                return Err(XmlError::DuplicateId);
            }
        }
        drop(ids);
        Ok(Self { tree, limits: *limits, trust: PhantomData })
    }

    /// Returns the outermost element.
    pub fn root(&self) -> Element<'_, Trust> {
        Element { node: self.tree.root_element(), limits: &self.limits, trust: PhantomData }
    }
}

fn check_node(node: Node<'_, '_>, limits: &Limits) -> Result<(), XmlError> {
    if node.node_type() == NodeType::Comment {
        let is_text = |node: Option<Node<'_, '_>>| node.is_some_and(|node| !is_blank_text(node));
        let mut around = node.ancestors();
        let in_signature = around.any(|around| around.has_tag_name((DSIG, "Signature")));
        if in_signature || is_text(node.prev_sibling()) || is_text(node.next_sibling()) {
            return Err(XmlError::CommentInText);
        }
    }
    if node.tag_name().namespace().is_some_and(|namespace| XINCLUDE.contains(&namespace)) {
        return Err(XmlError::XInclude);
    }
    let mut xml_attributes = node.attributes().filter(|a| a.namespace() == Some(XML));
    let is_accepted = |name| name == "lang" || (name == "base" && limits.xml_base);
    if xml_attributes.any(|attribute| !is_accepted(attribute.name())) {
        return Err(XmlError::XmlAttribute);
    }
    Ok(())
}

fn is_blank_text(node: Node<'_, '_>) -> bool {
    !node.is_text() || node.text().is_none_or(|text| text.trim_ascii().is_empty())
}

/// An element and its content.
#[derive(derive_more::Debug)]
#[debug("{}", node.tag_name().name())]
pub struct Element<'a, Trust> {
    pub(super) node: Node<'a, 'a>,
    pub(super) limits: &'a Limits,
    trust: PhantomData<Trust>,
}

impl<Trust> Clone for Element<'_, Trust> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Trust> Copy for Element<'_, Trust> {}

impl<'a, Trust> Element<'a, Trust> {
    fn with_node(self, node: Node<'a, 'a>) -> Self {
        Self { node, ..self }
    }

    /// Returns true for an element of this name.
    pub fn is(self, namespace: &str, name: &str) -> bool {
        self.node.has_tag_name((namespace, name))
    }

    /// Returns the name without prefix.
    pub fn name(self) -> &'a str {
        self.node.tag_name().name()
    }

    /// Returns the namespace of the name.
    pub fn namespace(self) -> Option<&'a str> {
        self.node.tag_name().namespace()
    }

    /// Returns the value of an attribute without namespace.
    pub fn attribute(self, name: &str) -> Option<&'a str> {
        let mut attributes = self.node.attributes();
        attributes.find(|a| a.namespace().is_none() && a.name() == name).map(|a| a.value())
    }

    /// Returns the elements directly inside this one.
    pub fn children(self) -> impl Iterator<Item = Self> {
        self.node.children().filter(Node::is_element).map(move |node| self.with_node(node))
    }

    /// Returns the direct children of this name.
    pub fn children_named(self, namespace: &str, name: &str) -> impl Iterator<Item = Self> {
        self.children().filter(move |child| child.is(namespace, name))
    }

    /// Returns the only direct child of this name.
    ///
    /// # Errors
    /// `ElementContent` if there are several.
    pub fn child(self, namespace: &str, name: &str) -> Result<Option<Self>, XmlError> {
        let mut found = self.children_named(namespace, name);
        match (found.next(), found.next()) {
            (_, Some(_)) => Err(XmlError::ElementContent),
            (first, None) => Ok(first),
        }
    }

    /// Returns this element and all inside it that have this name.
    pub fn descendants_named(self, namespace: &str, name: &str) -> impl Iterator<Item = Self> {
        let nodes = self.node.descendants().map(move |node| self.with_node(node));
        nodes.filter(move |element| element.is(namespace, name))
    }

    /// Returns the element that contains this one.
    pub fn parent(self) -> Option<Self> {
        self.node.parent_element().map(|node| self.with_node(node))
    }

    /// Returns where the element is in the text.
    pub(crate) fn byte_range(self) -> Range<usize> {
        self.node.range()
    }

    /// Returns true if both are the same element of one document.
    pub fn is_same(self, other: Self) -> bool {
        self.node == other.node
    }

    /// Returns the text; empty if there is none.
    ///
    /// # Errors
    /// `ElementContent` if there are elements or comments: the text of `admin<!---->x` could be
    /// read as `admin` (CVE-2017-11428 and others).
    pub fn text(self) -> Result<&'a str, XmlError> {
        let mut children = self.node.children();
        match (children.next(), children.next()) {
            (None, _) => Ok(""),
            (Some(only), None) if only.is_text() => Ok(only.text().unwrap_or_default()),
            _ => Err(XmlError::ElementContent),
        }
    }

    /// Checks that there is no text beside the elements inside this one.
    ///
    /// # Errors
    /// `ElementContent`.
    pub fn check_no_text(self) -> Result<(), XmlError> {
        let blank = self.node.children().all(is_blank_text);
        if blank { Ok(()) } else { Err(XmlError::ElementContent) }
    }
}
