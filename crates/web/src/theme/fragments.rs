//! Page fragments and a style sheet of the operator: `header.html`, `footer.html`, `help.html`, each
//! also by language (`footer.fr.html`), and `style.css`, in one folder.
//!
//! A fragment is well-formed XML with a few elements and attributes, and is written again as HTML
//! from its parse tree. So nothing reaches a page that this list does not name: no script, form,
//! input, frame, style, event handler or `javascript:` address. The pages show what was checked when
//! the theme was loaded; no request parses anything.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use roxmltree::{Document, Node};

use passerelle_settings::address::{self, PlainHttp};
use passerelle_settings::{Diagnostic, ValueError, file_diagnostic, safe_read};

/// Position of a fragment on a page.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum FragmentSlot {
    /// Below the hub's name.
    Header,
    /// Below the page's content.
    Help,
    /// At the end of the page.
    Footer,
}

/// The checked fragments of a theme, as HTML, and its style sheet.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Fragments {
    /// HTML by slot, then by language; without a language for every other one.
    html: BTreeMap<FragmentSlot, BTreeMap<String, String>>,
    /// CSS that follows the built-in style sheet; empty without one.
    pub style: String,
}

const MAX_FRAGMENT_BYTES: usize = 4 * 1024;
const MAX_STYLE_BYTES: usize = 8 * 1024;

/// Elements that a fragment may have. Those of [`VOID_ELEMENTS`] have no content.
const ELEMENTS: &[&str] = &[
    "a", "abbr", "address", "b", "bdi", "br", "cite", "code", "dd", "div", "dl", "dt", "em", "h2",
    "h3", "hr", "i", "img", "li", "nav", "ol", "p", "section", "small", "span", "strong", "sub",
    "sup", "time", "ul", "wbr",
];
const VOID_ELEMENTS: &[&str] = &["br", "hr", "img", "wbr"];
/// Attributes of every element. `a` also has `href`, `img` also `src`, `alt`, `width`, `height`.
const ATTRIBUTES: &[&str] = &["class", "dir", "lang", "title", "aria-label", "role"];
/// Roles that don't make an element look like a control or an alert.
const ROLES: &[&str] = &["note", "navigation", "region", "complementary", "contentinfo", "list"];
/// Text of a style sheet that would load something, or hide such text from this check.
const FORBIDDEN_CSS: &[&str] = &["@import", "@font-face", "url(", "image(", "image-set(", "src("];

impl Fragments {
    /// Reads a folder. A file with another name is reported, because it is probably misspelt.
    pub fn read(folder: &Path, problems: &mut Vec<Diagnostic>) -> Self {
        let mut fragments = Self::default();
        let listed = std::fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let Ok(listed) = listed else {
            let fix = "create the folder, or remove `fragments` from the theme";
            problems.push(file_diagnostic(folder, "the folder can't be read", fix));
            return fragments;
        };
        let mut paths: Vec<PathBuf> = listed.into_iter().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            if let Err(problem) = fragments.read_file(folder, &path) {
                problems.push(problem);
            }
        }
        fragments
    }

    fn read_file(&mut self, folder: &Path, path: &Path) -> Result<(), Diagnostic> {
        let refuse = |error: ValueError| error.in_file(path);
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        // Editors and Kubernetes keep hidden files beside the others.
        if name.starts_with('.') {
            return Ok(());
        }
        let target = FragmentFile::from_name(name).ok_or_else(|| {
            file_diagnostic(
                path,
                "is not the name of a fragment",
                "use header.html, help.html, footer.html, with a language as in footer.fr.html, or style.css",
            )
        })?;
        safe_read::check_link_stays_inside(path, folder).map_err(refuse)?;
        let bytes = safe_read::read_regular_file(path).map_err(refuse)?;
        let text = String::from_utf8(bytes)
            .map_err(|_| file_diagnostic(path, "the file is not UTF-8 text", "save it as UTF-8"))?;
        match target {
            FragmentFile::Style => self.style = check_style(&text).map_err(refuse)?,
            FragmentFile::Html(slot, language) => {
                let html = check_fragment(&text).map_err(|found| Diagnostic {
                    line: found.line,
                    ..file_diagnostic(path, found.message, found.fix)
                })?;
                self.html.entry(slot).or_default().insert(language, html);
            }
        }
        Ok(())
    }

    /// Returns the HTML of a slot, in this language or in the one of every language; empty without.
    pub fn html(&self, slot: FragmentSlot, language: &str) -> &str {
        let html = self.html.get(&slot);
        html.and_then(|html| html.get(language).or_else(|| html.get(""))).map_or("", String::as_str)
    }
}

enum FragmentFile {
    Html(FragmentSlot, String),
    Style,
}

impl FragmentFile {
    fn from_name(name: &str) -> Option<Self> {
        if name == "style.css" {
            return Some(Self::Style);
        }
        let stem = name.strip_suffix(".html")?;
        let (slot, language) = stem.split_once('.').unwrap_or((stem, ""));
        let is_language = language.is_empty()
            || ((2..=3).contains(&language.len())
                && language.bytes().all(|byte| byte.is_ascii_lowercase()));
        let slot = match slot {
            "header" => FragmentSlot::Header,
            "help" => FragmentSlot::Help,
            "footer" => FragmentSlot::Footer,
            _ => return None,
        };
        is_language.then(|| Self::Html(slot, language.to_owned()))
    }
}

/// Why a fragment is refused.
#[derive(Debug)]
struct FragmentError {
    line: Option<usize>,
    message: String,
    fix: String,
}

/// Returns the fragment as HTML, written from its parse tree.
fn check_fragment(text: &str) -> Result<String, FragmentError> {
    let whole = |message: &str, fix: &str| FragmentError {
        line: None,
        message: message.to_owned(),
        fix: fix.to_owned(),
    };
    if text.len() > MAX_FRAGMENT_BYTES {
        return Err(whole("is larger than 4 KiB", "keep the pages small: link to the rest"));
    }
    // Entities other than XML's five, and so their expansion, need a document type.
    if text.contains("<!DOCTYPE") || text.contains("<?") || text.contains("<![CDATA[") {
        let fix = "keep elements and text only";
        return Err(whole("has a document type, a CDATA section or an instruction", fix));
    }
    let wrapped = format!("<div>{text}</div>");
    let document = Document::parse(&wrapped).map_err(|error| FragmentError {
        line: usize::try_from(error.pos().row).ok(),
        message: "is not well-formed: an element is not closed, or an entity is unknown".to_owned(),
        fix: "close every element (<br/>, <p>…</p>), quote attributes, and write characters as they are instead of &nbsp;"
            .to_owned(),
    })?;
    let root = document.root_element();
    // Text such as `</div><div>` would leave the wrapper.
    if root.range() != (0..wrapped.len()) {
        return Err(whole("closes an element that it did not open", "remove the closing tag"));
    }
    let mut html = String::new();
    for child in root.children() {
        write_node(child, &document, &mut html)?;
    }
    Ok(html.trim_ascii().to_owned())
}

fn write_node(
    node: Node<'_, '_>,
    document: &Document<'_>,
    html: &mut String,
) -> Result<(), FragmentError> {
    if node.is_text() {
        push_escaped(html, node.text().unwrap_or_default());
    }
    // Comments are left out.
    if !node.is_element() {
        return Ok(());
    }
    let name = node.tag_name().name();
    let refuse = |message: String, fix: &str| FragmentError {
        line: usize::try_from(document.text_pos_at(node.range().start).row).ok(),
        message,
        fix: fix.to_owned(),
    };
    if !ELEMENTS.contains(&name) || node.tag_name().namespace().is_some() {
        let fix = format!("use only {}", ELEMENTS.join(", "));
        return Err(refuse(format!("has the element <{name}>, which pages don't allow"), &fix));
    }
    let _infallible = write!(html, "<{name}");
    for attribute in node.attributes() {
        let (key, value) = (attribute.name(), attribute.value());
        check_attribute(name, key, value).map_err(|ValueError { message, fix }| {
            refuse(format!("has <{name}> with the attribute {key}, which {message}"), &fix)
        })?;
        let _infallible = write!(html, " {key}=\"");
        push_escaped(html, value);
        html.push('"');
    }
    if name == "a" {
        html.push_str(" rel=\"noreferrer\"");
    }
    html.push('>');
    if VOID_ELEMENTS.contains(&name) {
        return if node.has_children() {
            Err(refuse(format!("has content in <{name}>"), "close it at once: <br/>"))
        } else {
            Ok(())
        };
    }
    for child in node.children() {
        write_node(child, document, html)?;
    }
    let _infallible = write!(html, "</{name}>");
    Ok(())
}

fn check_attribute(element: &str, key: &str, value: &str) -> Result<(), ValueError> {
    let is_number = || value.len() <= 4 && value.bytes().all(|byte| byte.is_ascii_digit());
    let is_mail = || value.strip_prefix("mailto:").is_some_and(|mail| mail.contains('@'));
    match (element, key) {
        ("a", "href") if value.starts_with("tel:") || is_mail() => {
            let is_plain = value.bytes().all(|byte| byte.is_ascii_graphic());
            is_plain.then_some(()).ok_or_else(|| {
                ValueError::new("has a space or a special character", "percent-encode it")
            })
        }
        ("a", "href") => address::parse_absolute_url(value, PlainHttp::Nowhere).map(drop),
        ("img", "src") if value == "/assets/logo" => Ok(()),
        ("img", "src") => Err(ValueError::new(
            "is not the theme's logo",
            "use src=\"/assets/logo\": pages load pictures from the hub only",
        )),
        ("img", "width" | "height") if is_number() => Ok(()),
        ("img", "alt") => Ok(()),
        (_, "role") if !ROLES.contains(&value) => Err(ValueError::new(
            "is not an allowed role",
            "use note, navigation, region, or remove it",
        )),
        (_, "dir") if !matches!(value, "ltr" | "rtl" | "auto") => {
            Err(ValueError::new("is not a direction", "use ltr, rtl or auto"))
        }
        _ if ATTRIBUTES.contains(&key) => Ok(()),
        _ => Err(ValueError::new(
            "pages don't allow",
            "remove it; class, lang, dir, title and aria-label remain",
        )),
    }
}

fn push_escaped(html: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            _ => html.push(character),
        }
    }
}

/// Returns the style sheet, if it loads nothing and can't end its element.
fn check_style(text: &str) -> Result<String, ValueError> {
    if text.len() > MAX_STYLE_BYTES {
        return Err(ValueError::new("is larger than 8 KiB", "keep the pages small"));
    }
    if text.contains(['<', '\\'])
        || text.chars().any(|c| c.is_control() && !c.is_ascii_whitespace())
    {
        return Err(ValueError::new(
            "has a < or a \\",
            "remove it: it could end the style sheet, or hide a rule",
        ));
    }
    let lower = text.to_ascii_lowercase();
    if FORBIDDEN_CSS.iter().any(|word| lower.contains(word)) {
        return Err(ValueError::new(
            "loads something: it has url(), @import, @font-face or image()",
            "use colours, borders, sizes and system fonts only",
        ));
    }
    Ok(text.trim_ascii().to_owned())
}

#[cfg(test)]
mod tests;
