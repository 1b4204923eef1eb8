//! Refuses XML before it is parsed: what SAML never needs, what parsers and canonicalisers read
//! differently, and what costs more than its size. Linear in the text.

use super::document::XML;

/// Bounds of a document.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Length in bytes.
    pub bytes: usize,
    /// Nested elements.
    pub depth: usize,
    /// Attributes of one element, namespace declarations included.
    pub attributes: usize,
    /// Elements, texts and comments.
    pub nodes: u32,
    /// Whether elements may have `xml:base`, which `XInclude` leaves in the metadata of federations.
    /// Nothing reads it: relative addresses are not used.
    pub xml_base: bool,
}

impl Limits {
    /// A response, with or without encryption: a large one has some hundred attribute values.
    pub const RESPONSE: Self =
        Self { bytes: 256 * 1024, depth: 32, attributes: 32, nodes: 10_000, xml_base: false };
    /// The metadata of a federation.
    pub const METADATA: Self =
        Self { bytes: 5 * 1024 * 1024, depth: 32, attributes: 32, nodes: 400_000, xml_base: true };
}

/// Namespace declarations that apply to one element.
const MAX_NAMESPACES_IN_SCOPE: usize = 48;
/// Length of a name with its prefix, in bytes.
const MAX_NAME_BYTES: usize = 256;

/// Error returned for XML that the hub does not read.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum XmlError {
    #[error("it is larger than allowed")]
    TooLarge,
    #[error("it is not UTF-8, or declares another encoding or version than UTF-8 and 1.0")]
    Encoding,
    #[error("it has a document type declaration, which could define entities")]
    DocumentType,
    #[error("it has a processing instruction")]
    ProcessingInstruction,
    #[error("it has a CDATA section")]
    Cdata,
    #[error("it has a comment beside text or in a signature")]
    CommentInText,
    #[error("its elements are nested too deeply")]
    TooDeep,
    #[error("an element has too many attributes or namespaces")]
    TooManyAttributes,
    #[error("it has too many elements")]
    TooManyNodes,
    #[error("a namespace is declared twice, is relative, empty, reserved or has references")]
    NamespaceDeclaration,
    #[error("a namespace prefix has two meanings")]
    PrefixRebound,
    #[error("it is not well-formed XML with namespaces, or uses an entity")]
    NotWellFormed,
    #[error("an ID occurs twice")]
    DuplicateId,
    #[error("it has an attribute xml:base, xml:space or xml:id")]
    XmlAttribute,
    #[error("it includes another document (XInclude)")]
    XInclude,
    #[error("an element occurs twice, or has both text and elements")]
    ElementContent,
}

/// Returns the document with the line ends of XML 1.0 §2.11 and without byte order mark and XML
/// declaration.
pub(super) fn normalize(bytes: &[u8], limits: &Limits) -> Result<String, XmlError> {
    if bytes.len() > limits.bytes {
        return Err(XmlError::TooLarge);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| XmlError::Encoding)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // Before parsing, as the standard demands: roxmltree 0.21 keeps a CR before a reference.
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let Some(declaration) = text.strip_prefix("<?xml") else { return Ok(text) };
    let (declaration, rest) = declaration.split_once("?>").ok_or(XmlError::NotWellFormed)?;
    let declaration = declaration.replace('\'', "\"");
    let known = declaration.split_ascii_whitespace().enumerate().all(|(at, part)| match at {
        0 => part == r#"version="1.0""#,
        1 if part.eq_ignore_ascii_case(r#"encoding="utf-8""#) => true,
        1 | 2 => matches!(part, r#"standalone="yes""# | r#"standalone="no""#),
        _ => false,
    });
    if known { Ok(rest.to_owned()) } else { Err(XmlError::Encoding) }
}

/// A namespace declaration of an open element.
struct Declaration<'a> {
    /// Depth of its element.
    depth: usize,
    /// Empty for the default namespace.
    prefix: &'a str,
    uri: &'a str,
}

struct Scan<'a> {
    limits: &'a Limits,
    depth: usize,
    scope: Vec<Declaration<'a>>,
}

/// Checks the markup of a normalized document. What it does not understand, the parser refuses.
pub(super) fn scan(text: &str, limits: &Limits) -> Result<(), XmlError> {
    let mut scan = Scan { limits, depth: 0, scope: Vec::new() };
    let mut rest = text;
    while let Some((_, markup)) = rest.split_once('<') {
        rest = scan.markup(markup)?;
    }
    if scan.depth == 0 { Ok(()) } else { Err(XmlError::NotWellFormed) }
}

impl<'a> Scan<'a> {
    /// Reads one piece of markup without its `<`, and returns what follows it.
    fn markup(&mut self, markup: &'a str) -> Result<&'a str, XmlError> {
        if let Some(comment) = markup.strip_prefix("!--") {
            return after(comment, "-->");
        }
        if let Some(end_tag) = markup.strip_prefix('/') {
            self.leave()?;
            return after(end_tag, ">");
        }
        match markup.as_bytes() {
            [b'!', b'[', ..] => Err(XmlError::Cdata),
            [b'!', ..] => Err(XmlError::DocumentType),
            [b'?', ..] => Err(XmlError::ProcessingInstruction),
            _ => self.start_tag(markup),
        }
    }

    fn start_tag(&mut self, markup: &'a str) -> Result<&'a str, XmlError> {
        self.depth += 1;
        if self.depth > self.limits.depth {
            return Err(XmlError::TooDeep);
        }
        let is_delimiter = |c: char| c.is_ascii_whitespace() || c == '/' || c == '>';
        let end = markup.find(is_delimiter).ok_or(XmlError::NotWellFormed)?;
        let (name, mut rest) = markup.split_at(end);
        check_name(name)?;
        let mut attributes = 0;
        loop {
            rest = rest.trim_ascii_start();
            if let Some(content) = rest.strip_prefix('>') {
                return Ok(content);
            }
            if let Some(content) = rest.strip_prefix("/>") {
                self.leave()?;
                return Ok(content);
            }
            attributes += 1;
            if attributes > self.limits.attributes {
                return Err(XmlError::TooManyAttributes);
            }
            let (name, value) = rest.split_once('=').ok_or(XmlError::NotWellFormed)?;
            let value = value.trim_ascii_start();
            let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''));
            let quote = quote.ok_or(XmlError::NotWellFormed)?;
            let value = value.strip_prefix(quote).ok_or(XmlError::NotWellFormed)?;
            let (value, following) = value.split_once(quote).ok_or(XmlError::NotWellFormed)?;
            self.attribute(name.trim_ascii_end(), value)?;
            rest = following;
        }
    }

    fn attribute(&mut self, name: &'a str, uri: &'a str) -> Result<(), XmlError> {
        check_name(name)?;
        // roxmltree 0.21 takes `p:xmlns` for the declaration of a default namespace.
        if name.ends_with(":xmlns") {
            return Err(XmlError::NamespaceDeclaration);
        }
        let prefix = match name.strip_prefix("xmlns") {
            Some("") => "",
            Some(prefix) if prefix.starts_with(':') => prefix.trim_start_matches(':'),
            _ => return Ok(()),
        };
        // Canonicalization of a relative namespace fails (Canonical XML 1.0 §1.3), in libxml2 with
        // an empty result.
        let is_absolute = uri.contains(':') || (prefix.is_empty() && uri.is_empty());
        let is_plain = !uri.contains(|c: char| c == '&' || c.is_ascii_whitespace());
        // The prefix `xml` may be declared, as what it always means (Namespaces in XML 1.0 §3).
        let is_reserved = prefix == "xmlns" || (prefix == "xml" && uri != XML);
        let is_repeated = self
            .scope
            .iter()
            .rev()
            .take_while(|d| d.depth == self.depth)
            .any(|d| d.prefix == prefix);
        if !is_absolute || !is_plain || is_reserved || is_repeated {
            return Err(XmlError::NamespaceDeclaration);
        }
        // The default namespace is declared again in most responses, and stays unambiguous.
        let mut in_scope = self.scope.iter().filter(|d| d.prefix == prefix);
        if !prefix.is_empty() && in_scope.any(|d| d.uri != uri) {
            return Err(XmlError::PrefixRebound);
        }
        if self.scope.len() >= MAX_NAMESPACES_IN_SCOPE {
            return Err(XmlError::TooManyAttributes);
        }
        self.scope.push(Declaration { depth: self.depth, prefix, uri });
        Ok(())
    }

    fn leave(&mut self) -> Result<(), XmlError> {
        while self.scope.pop_if(|declaration| declaration.depth == self.depth).is_some() {}
        self.depth = self.depth.checked_sub(1).ok_or(XmlError::NotWellFormed)?;
        Ok(())
    }
}

fn after<'a>(text: &'a str, end: &str) -> Result<&'a str, XmlError> {
    text.split_once(end).map(|(_, rest)| rest).ok_or(XmlError::NotWellFormed)
}

fn check_name(name: &str) -> Result<(), XmlError> {
    let is_markup = |byte: u8| b"<>&'\"/ \t\n".contains(&byte);
    if name.is_empty() || name.len() > MAX_NAME_BYTES || name.bytes().any(is_markup) {
        return Err(XmlError::NotWellFormed);
    }
    Ok(())
}
