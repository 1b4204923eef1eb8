//! The theme: name, logo, accent colours and footer links of one hub.
//!
//! Owns: the theme file's shape and its contrast check (WCAG 2.2, 1.4.3). Must not know: where the file lies.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

/// A theme file (TOML). [`Theme::parse`] is the only road from outside, so that a loaded theme is a readable one.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Theme {
    /// The hub's name by language, on every page: `{ fr = …, en = … }`.
    pub name: BTreeMap<String, String>,
    /// Path on this host (`/…`), square; pages may load images from the hub only.
    #[serde(default)]
    pub logo: Option<String>,
    #[serde(default = "Accent::on_white")]
    pub light: Accent,
    #[serde(default = "Accent::on_black")]
    pub dark: Accent,
    #[serde(default)]
    pub links: Vec<FooterLink>,
}

/// The one colour that stands out, and the text on it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Accent {
    pub colour: Colour,
    pub text: Colour,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FooterLink {
    /// By language.
    pub label: BTreeMap<String, String>,
    /// Absolute `https://` address, or a path on this host.
    pub href: String,
}

/// `#rrggbb`. Nothing else can reach the style sheet.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String")]
pub struct Colour(String);

#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum ThemeError {
    #[error("the theme file can't be read: {0}")]
    Malformed(String),
    #[error("`name` is empty; give the hub's name for at least one language: name = {{ fr = \"…\" }}")]
    NoName,
    #[error("`logo` must be a path on this host that begins with one `/`; pages load no picture from elsewhere")]
    LogoElsewhere,
    #[error("the footer link {0:?} must begin with `https://` or with one `/`")]
    Link(String),
    #[error("{what}: contrast {found} to 1, at least 4.5 is needed to be readable; choose a {mend} colour")]
    Contrast { what: &'static str, found: String, mend: &'static str },
}

/// Backgrounds of `style.css`: card and page. The card's white is written short there.
const LIGHT_GROUNDS: [&str; 2] = ["#ffffff", "#f4f5f7"];
const DARK_GROUNDS: [&str; 2] = ["#1e2127", "#14161a"];

impl Theme {
    /// # Errors
    /// The file is not a theme, names something unsafe, or its colours can't be read against each other.
    pub fn parse(toml: &str) -> Result<Self, ThemeError> {
        let theme: Self = toml::from_str(toml).map_err(|error| ThemeError::Malformed(error.message().to_owned()))?;
        theme.check()?;
        Ok(theme)
    }

    fn check(&self) -> Result<(), ThemeError> {
        if self.name.values().all(|name| name.trim().is_empty()) {
            return Err(ThemeError::NoName);
        }
        if self.logo.as_deref().is_some_and(|logo| !is_own_path(logo)) {
            return Err(ThemeError::LogoElsewhere);
        }
        if let Some(link) = self.links.iter().find(|link| !link.href.starts_with("https://") && !is_own_path(&link.href)) {
            return Err(ThemeError::Link(link.href.clone()));
        }
        contrast("light.text on light.colour", &self.light.text, &self.light.colour, "lighter or darker")?;
        contrast("dark.text on dark.colour", &self.dark.text, &self.dark.colour, "lighter or darker")?;
        for ground in LIGHT_GROUNDS.map(|ground| Colour(ground.to_owned())) {
            contrast("light.colour on the light page", &self.light.colour, &ground, "darker")?;
        }
        for ground in DARK_GROUNDS.map(|ground| Colour(ground.to_owned())) {
            contrast("dark.colour on the dark page", &self.dark.colour, &ground, "lighter")?;
        }
        Ok(())
    }
}

/// `//elsewhere` is another host's address.
fn is_own_path(href: &str) -> bool {
    href.starts_with('/') && !href.starts_with("//") && !href.contains('\\')
}

impl Default for Theme {
    fn default() -> Self {
        Self {
            name: BTreeMap::from([("fr".to_owned(), "Passerelle".to_owned())]),
            logo: None,
            light: Accent::on_white(),
            dark: Accent::on_black(),
            links: Vec::new(),
        }
    }
}

impl Accent {
    fn on_white() -> Self {
        Self { colour: Colour("#1d4ed8".to_owned()), text: Colour("#ffffff".to_owned()) }
    }

    fn on_black() -> Self {
        Self { colour: Colour("#9dbbff".to_owned()), text: Colour("#0b1530".to_owned()) }
    }
}

impl TryFrom<String> for Colour {
    type Error = String;

    fn try_from(value: String) -> Result<Self, String> {
        match value.strip_prefix('#') {
            Some(hex) if hex.len() == 6 && hex.bytes().all(|c| c.is_ascii_hexdigit()) => Ok(Self(value)),
            _ => Err(format!("{value:?} is not a colour; write it as #rrggbb")),
        }
    }
}

impl std::fmt::Display for Colour {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl Colour {
    /// Relative luminance (WCAG 2.2), 0 to 1.
    fn luminance(&self) -> f64 {
        let rgb = u32::from_str_radix(self.0.trim_start_matches('#'), 16).unwrap_or_default();
        let linear = |shift: u32| {
            let channel = f64::from((rgb >> shift) & 0xff) / 255.0;
            if channel <= 0.04045 { channel / 12.92 } else { ((channel + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(16) + 0.7152 * linear(8) + 0.0722 * linear(0)
    }
}

fn contrast(what: &'static str, one: &Colour, other: &Colour, mend: &'static str) -> Result<(), ThemeError> {
    let (a, b) = (one.luminance(), other.luminance());
    let ratio = (a.max(b) + 0.05) / (a.min(b) + 0.05);
    if ratio >= 4.5 {
        return Ok(());
    }
    Err(ThemeError::Contrast { what, found: format!("{ratio:.1}"), mend })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_theme_passes_its_own_check() {
        assert_eq!(Theme::default().check(), Ok(()));
        assert_eq!(Theme::parse("name = { fr = \"Passerelle\" }"), Ok(Theme::default()));
    }

    #[test]
    fn the_grounds_checked_against_are_those_of_the_style_sheet() {
        let style = include_str!("templates/style.css");
        let [card, page] = LIGHT_GROUNDS;
        assert_eq!(card, "#ffffff");
        assert!(style.contains("--card:#fff;") && style.contains(&format!("--ground:{page};")));
        let [card, page] = DARK_GROUNDS;
        assert!(style.contains(&format!("--card:{card};")) && style.contains(&format!("--ground:{page};")));
    }

    #[test]
    fn unreadable_or_unsafe_themes_are_refused() {
        for (toml, expected) in [
            ("name = { fr = \" \" }", "`name` is empty"),
            ("name = { fr = \"A\" }\nlogo = \"//cdn.example/logo.svg\"", "`logo` must be a path"),
            ("name = { fr = \"A\" }\nlogo = \"https://cdn.example/logo.svg\"", "`logo` must be a path"),
            ("name = { fr = \"A\" }\nlinks = [{ label = { fr = \"X\" }, href = \"javascript:alert(1)\" }]", "must begin with"),
            ("name = { fr = \"A\" }\nlight = { colour = \"#77aaff\", text = \"#000000\" }", "darker"),
            ("name = { fr = \"A\" }\ndark = { colour = \"#1d4ed8\", text = \"#ffffff\" }", "lighter"),
            ("name = { fr = \"A\" }\nlight = { colour = \"#1d4ed8\", text = \"#3355aa\" }", "light.text"),
            ("name = { fr = \"A\" }\nlight = { colour = \"red;}</style>\", text = \"#ffffff\" }", "#rrggbb"),
            ("name = { fr = \"A\" }\nfont = \"x\"", "unknown field"),
        ] {
            let error = Theme::parse(toml).unwrap_err().to_string();
            assert!(error.contains(expected), "{toml}: {error}");
        }
    }
}
