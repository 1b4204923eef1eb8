//! Defines the theme file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

/// A theme file (`theme = "theme.toml"` in `passerelle.toml`).
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThemeFile {
    /// The hub's display name, by language (`fr`, `en`).
    #[schemars(extend("examples" = [{"en": "…"}]))]
    pub name: BTreeMap<String, String>,
    /// Accent colours.
    pub accent: Accents,
    /// SVG or PNG of at most 256 KiB; the path is relative to the theme file's folder.
    #[serde(default)]
    pub logo: Option<PathBuf>,
    /// Icon of browser tabs, likewise.
    #[serde(default)]
    pub favicon: Option<PathBuf>,
    /// Folder of page fragments and a style sheet (docs/theme.md), relative to the theme file's
    /// folder.
    #[serde(default)]
    pub fragments: Option<PathBuf>,
    /// Address of your support: https, or mailto. Its query may hold `{code}`, `{support_id}`,
    /// `{service}` and `{identity_provider}`, which pages fill in.
    #[serde(default)]
    pub support_url: Option<String>,
    /// Who corrects the register of persons. The page of a person whose identity the register did
    /// not confirm links there.
    #[serde(default)]
    pub register_correction: Option<PageLink>,
    /// Links at the bottom of every page, as `[[footer]]` tables.
    #[serde(default)]
    pub footer: Vec<FooterLink>,
}

/// Accent colours of both colour schemes.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Accents {
    /// Light scheme.
    pub light: Accent,
    /// Dark scheme.
    pub dark: Accent,
}

/// A colour and the colour of text on it, as `#rrggbb`. The contrast between them, and between the
/// colour and the page, must be 4.5 or more.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Accent {
    /// Colour of main buttons, marks and links.
    pub background: String,
    /// Colour of text on `background`.
    pub text: String,
}

/// A link on a page.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageLink {
    /// Display text, by language (`fr`, `en`).
    pub label: BTreeMap<String, String>,
    /// Absolute https URL.
    pub url: String,
}

/// A link at the bottom of every page.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FooterLink {
    /// Display text, by language (`fr`, `en`).
    pub label: BTreeMap<String, String>,
    /// Key of the message that is the text instead, of a link to a page of the hub: operators may
    /// replace messages while the hub runs.
    #[serde(skip)]
    pub message: Option<&'static str>,
    /// Absolute https URL.
    pub url: String,
    /// What the link leads to. `passerelle check` warns if a public hub has no link to its privacy
    /// notice, or to its accessibility statement.
    #[serde(default)]
    pub purpose: Option<LinkPurpose>,
}

/// What a link at the bottom of every page leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LinkPurpose {
    /// The privacy notice.
    Privacy,
    /// The accessibility statement.
    Accessibility,
}
