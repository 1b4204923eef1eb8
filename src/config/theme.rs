//! The look of the pages: name, logo, accent colours, footer. Contrast is checked here, so that no page has to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

use super::address::{self, Http};
use super::logo::Logo;
use super::problem::Problem;
use super::source::Source;
use super::text;

/// The theme file (`theme = "theme.toml"` in `passerelle.toml`).
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThemeFile {
    /// The hub's name as the person reads it, by language (`fr`, `en`).
    pub name: BTreeMap<String, String>,
    pub accent: Accents,
    /// SVG or PNG of at most 256 KiB; the path counts from the theme file's folder.
    #[serde(default)]
    pub logo: Option<PathBuf>,
    /// Links at the foot of every page, as `[[footer]]` tables.
    #[serde(default)]
    pub footer: Vec<FooterLink>,
}

/// The accent colour in both colour schemes.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Accents {
    pub light: Accent,
    pub dark: Accent,
}

/// A colour and the text on it, as `#rrggbb`. The contrast between them, and between the colour and the page, must be
/// 4.5 or more.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Accent {
    /// `#rrggbb`: main buttons, marks and links.
    pub background: String,
    /// `#rrggbb`: text on `background`.
    pub text: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FooterLink {
    /// As the person reads it, by language (`fr`, `en`).
    pub label: BTreeMap<String, String>,
    /// Absolute https address.
    pub url: String,
}

/// A checked theme: colours are `#` and six hex digits, safe to write into a style sheet.
#[derive(Clone, Debug)]
pub struct Theme {
    pub name: BTreeMap<String, String>,
    pub accent: Accents,
    pub logo: Option<Logo>,
    pub footer: Vec<FooterLink>,
}

/// What lies under the accent colour in the light scheme: card and page.
pub const LIGHT_GROUNDS: [&str; 2] = ["#ffffff", "#f4f5f7"];
/// The same in the dark scheme.
pub const DARK_GROUNDS: [&str; 2] = ["#1e2127", "#14161a"];

/// The theme that is used when no file is named, as text.
const BUILT_IN: &str = include_str!("../../config/theme.toml");

/// WCAG 2.2, 1.4.3: text of normal size.
const CONTRAST: f64 = 4.5;

pub fn load(file: &Path, problems: &mut Vec<Problem>) -> Option<Theme> {
    let source = Source::read(file).map_err(|problem| problems.push(problem)).ok()?;
    checked(&source, file.parent().unwrap_or(Path::new("")), problems)
}

/// The built-in theme. `None`, with a problem, only if the program itself was built with a bad one.
pub fn built_in(problems: &mut Vec<Problem>) -> Option<Theme> {
    embedded(BUILT_IN, problems)
}

/// A theme that is part of the program: the built-in one, or that of an embedded demo. Its logo counts from nowhere.
pub fn embedded(text: &str, problems: &mut Vec<Problem>) -> Option<Theme> {
    let source = Source::parse(Path::new("(built-in theme)"), text)
        .map_err(|problem| problems.push(problem))
        .ok()?;
    checked(&source, Path::new(""), problems)
}

fn checked(source: &Source, folder: &Path, problems: &mut Vec<Problem>) -> Option<Theme> {
    let file = source.shape::<ThemeFile>(problems)?;
    let before = problems.len();
    text::check(source, "name", &file.name, problems);
    check_accent(source, "accent.light", &file.accent.light, LIGHT_GROUNDS, "darken", problems);
    check_accent(source, "accent.dark", &file.accent.dark, DARK_GROUNDS, "lighten", problems);
    for (index, link) in file.footer.iter().enumerate() {
        text::check(source, &format!("footer[{index}].label"), &link.label, problems);
        if let Err((what, mend)) = address::absolute(&link.url, Http::Loopback) {
            problems.push(source.problem(&format!("footer[{index}].url"), what, mend));
        }
    }
    let logo = match file.logo.as_ref().map(|path| Logo::of_theme(folder, path)).transpose() {
        Ok(logo) => logo,
        Err((what, mend)) => {
            problems.push(source.problem("logo", what, mend));
            None
        }
    };
    (problems.len() == before).then_some(Theme {
        name: file.name,
        accent: file.accent,
        logo,
        footer: file.footer,
    })
}

fn check_accent(
    source: &Source,
    key: &str,
    accent: &Accent,
    grounds: [&str; 2],
    mend: &str,
    problems: &mut Vec<Problem>,
) {
    let mut colour = |name: &str, text: &str| {
        let found = luminance(text);
        if found.is_none() {
            problems.push(source.problem(
                &format!("{key}.{name}"),
                "is not a colour",
                "write # and six hex digits, as #0b5fa5",
            ));
        }
        found
    };
    let (background, text) =
        (colour("background", &accent.background), colour("text", &accent.text));
    let (Some(background), Some(text)) = (background, text) else { return };
    // Rounded down: 4.49 must not read as 4.5.
    let words = |ratio: f64| format!("{:.1}", (ratio * 10.0).floor() / 10.0);
    let on_it = contrast(background, text);
    if on_it < CONTRAST {
        let what = format!("has a contrast of {} between background and text", words(on_it));
        problems.push(source.problem(
            key,
            what,
            "darken one or lighten the other until it is 4.5 or more (WCAG 2.2, 1.4.3)",
        ));
        return;
    }
    // Links and plain buttons are written in the accent colour.
    let on_page = grounds
        .into_iter()
        .filter_map(luminance)
        .map(|ground| contrast(background, ground))
        .fold(f64::MAX, f64::min);
    if on_page < CONTRAST {
        let what = format!("has a contrast of {} against the page", words(on_page));
        let mend = format!("{mend} it until it is 4.5 or more (WCAG 2.2, 1.4.3)");
        problems.push(source.problem(&format!("{key}.background"), what, mend));
    }
}

/// WCAG 2.2, "contrast ratio".
fn contrast(one: f64, other: f64) -> f64 {
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

/// WCAG 2.2, "relative luminance", of `#rrggbb`.
fn luminance(colour: &str) -> Option<f64> {
    let digits = colour
        .strip_prefix('#')
        .filter(|digits| digits.len() == 6 && digits.bytes().all(|c| c.is_ascii_hexdigit()))?;
    let channel = |at: usize| {
        let value = f64::from(u8::from_str_radix(digits.get(at..at + 2)?, 16).ok()?) / 255.0;
        Some(if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) })
    };
    Some(0.2126 * channel(0)? + 0.7152 * channel(2)? + 0.0722 * channel(4)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contrast_is_wcags() {
        let ratio = |a, b| contrast(luminance(a).unwrap(), luminance(b).unwrap());
        assert!((ratio("#000000", "#ffffff") - 21.0).abs() < 1e-9);
        assert!((ratio("#777777", "#ffffff") - 4.478).abs() < 1e-3, "the grey that just fails");
        assert_eq!(luminance("#12345"), None);
        assert_eq!(luminance("#12345g"), None);
    }

    #[test]
    fn accents_are_readable_on_the_page_too() {
        for (scheme, background, text, expected) in [
            ("light", "#0b4f8a", "#ffffff", None),
            ("light", "#77aaff", "#000000", Some("darken it")),
            ("light", "#1d4ed8", "#3355aa", Some("between background and text")),
            ("dark", "#8cc4ff", "#0a1a2b", None),
            ("dark", "#1d4ed8", "#ffffff", Some("lighten it")),
            ("light", "red;}</style>", "#ffffff", Some("is not a colour")),
        ] {
            let mut table: toml::Table = toml::from_str(BUILT_IN).unwrap();
            table["accent"][scheme]["background"] = background.into();
            table["accent"][scheme]["text"] = text.into();
            let mut problems = Vec::new();
            let theme = embedded(&table.to_string(), &mut problems);
            let said: String = problems.iter().map(ToString::to_string).collect();
            assert_eq!(theme.is_some(), expected.is_none(), "{said}");
            assert!(said.contains(expected.unwrap_or_default()), "{background} {text}: {said}");
        }
    }
}
