//! Loads the theme of the pages: name, logo, accent colours, footer. Checks the contrast of its
//! colours.

pub mod fragments;
pub mod support_url;
mod theme_file;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fragments::Fragments;
use passerelle_federation::localized_text::{self, MAX_NAME_CHARS};
use passerelle_federation::logo::Logo;
use passerelle_settings::address::{self, PlainHttp};
use passerelle_settings::{Diagnostic, FileCheck, SourceFile};
use support_url::SupportUrlTemplate;

pub use theme_file::{Accent, Accents, FooterLink, LinkPurpose, PageLink, ThemeFile};

/// A checked theme. Colours are `#` and six hex digits, safe to write into a style sheet.
#[derive(Clone, Debug)]
pub struct Theme {
    /// The hub's display name, by language.
    pub name: BTreeMap<String, String>,
    /// Accent colours.
    pub accent: Accents,
    /// The logo.
    pub logo: Option<Logo>,
    /// The icon of browser tabs.
    pub favicon: Option<Logo>,
    /// Page fragments and a style sheet.
    pub fragments: Fragments,
    /// The address of the operator's support.
    pub support: Option<SupportUrlTemplate>,
    /// Who corrects the register of persons.
    pub register_correction: Option<PageLink>,
    /// Links at the bottom of every page.
    pub footer: Vec<FooterLink>,
}

/// Backgrounds of the accent colour in the light scheme: card and page.
pub const LIGHT_BACKGROUNDS: [&str; 2] = ["#ffffff", "#f4f5f7"];
/// Backgrounds of the accent colour in the dark scheme: card and page.
pub const DARK_BACKGROUNDS: [&str; 2] = ["#1e2127", "#14161a"];

/// The built-in theme file.
const BUILT_IN: &str = include_str!("../../../config/theme.toml");

/// Minimum contrast for text of normal size (WCAG 2.2, 1.4.3).
const MIN_CONTRAST_RATIO: f64 = 4.5;

/// Loads a theme file, or the built-in theme without one. Returns `None` and reports problems if it
/// is invalid.
pub fn load_theme(file: Option<&Path>, problems: &mut Vec<Diagnostic>) -> Option<Theme> {
    let Some(file) = file else {
        return built_in_theme(problems);
    };
    let source = SourceFile::read(file).map_err(|problem| problems.push(problem)).ok()?;
    check_theme(&mut FileCheck::new(&source, problems), file.parent().unwrap_or(Path::new("")))
}

/// Returns the built-in theme; `None`, with a problem, only if the program was built with an
/// invalid one.
pub fn built_in_theme(problems: &mut Vec<Diagnostic>) -> Option<Theme> {
    parse_embedded_theme(BUILT_IN, problems)
}

/// Parses a theme that is part of the program: the built-in one, or that of the demo. It can't have
/// a logo.
pub fn parse_embedded_theme(text: &str, problems: &mut Vec<Diagnostic>) -> Option<Theme> {
    let source = SourceFile::parse(Path::new("(built-in theme)"), text)
        .map_err(|problem| problems.push(problem))
        .ok()?;
    check_theme(&mut FileCheck::new(&source, problems), Path::new(""))
}

fn check_theme(check: &mut FileCheck<'_>, folder: &Path) -> Option<Theme> {
    let file = check.source.deserialize::<ThemeFile>(check.problems)?;
    let before = check.problems.len();
    localized_text::check_texts(check, "name", &file.name, MAX_NAME_CHARS);
    let Accents { light, dark } = &file.accent;
    check_accent(check, ColourScheme::Light, light);
    check_accent(check, ColourScheme::Dark, dark);
    check_links(check, &file);
    let mut picture = |key: &str, path: &Option<PathBuf>| {
        check.accept(key, Logo::read_theme_logo(folder, path.as_ref()?))
    };
    let (logo, favicon) = (picture("logo", &file.logo), picture("favicon", &file.favicon));
    let fragments = file.fragments.as_ref().map(|path| folder.join(path));
    let fragments =
        fragments.map(|folder| Fragments::read(&folder, check.problems)).unwrap_or_default();
    let support = file.support_url.as_deref();
    let support =
        support.and_then(|text| check.accept("support_url", SupportUrlTemplate::parse(text)));
    (check.problems.len() == before).then_some(Theme {
        name: file.name,
        accent: file.accent,
        logo,
        favicon,
        fragments,
        support,
        register_correction: file.register_correction,
        footer: file.footer,
    })
}

/// Checks the texts and the addresses of all links.
fn check_links(check: &mut FileCheck<'_>, file: &ThemeFile) {
    let footer = file.footer.iter().enumerate();
    let footer = footer
        .map(|(index, FooterLink { label, url, .. })| (format!("footer[{index}]"), label, url));
    let correction = file.register_correction.iter();
    let correction =
        correction.map(|PageLink { label, url }| ("register_correction".to_owned(), label, url));
    for (key, label, url) in footer.chain(correction) {
        localized_text::check_texts(check, &format!("{key}.label"), label, MAX_NAME_CHARS);
        let url = address::parse_absolute_url(url, PlainHttp::Loopback);
        check.accept(&format!("{key}.url"), url);
    }
}

/// The scheme of a page, as browsers prefer it.
#[derive(Clone, Copy)]
enum ColourScheme {
    Light,
    Dark,
}

fn check_accent(check: &mut FileCheck<'_>, scheme: ColourScheme, accent: &Accent) {
    let (key, backgrounds, change) = match scheme {
        ColourScheme::Light => ("accent.light", LIGHT_BACKGROUNDS, "darken"),
        ColourScheme::Dark => ("accent.dark", DARK_BACKGROUNDS, "lighten"),
    };
    let mut colour = |name: &str, text: &str| {
        let found = luminance(text);
        if found.is_none() {
            check.report(
                &format!("{key}.{name}"),
                "is not a colour",
                "write # and six hex digits, for example #0b5fa5",
            );
        }
        found
    };
    let (background, text) =
        (colour("background", &accent.background), colour("text", &accent.text));
    let (Some(background), Some(text)) = (background, text) else { return };
    // Rounds down, so that 4.49 is not displayed as 4.5.
    let format_ratio = |ratio: f64| format!("{:.1}", (ratio * 10.0).floor() / 10.0);
    let text_contrast = contrast_ratio(background, text);
    if text_contrast < MIN_CONTRAST_RATIO {
        let message = format!(
            "has a contrast of {} between background and text",
            format_ratio(text_contrast)
        );
        check.report(
            key,
            message,
            "darken one or lighten the other until it is 4.5 or more (WCAG 2.2, 1.4.3)",
        );
        return;
    }
    // Links and plain buttons are written in the accent colour.
    let page_contrast = backgrounds
        .into_iter()
        .filter_map(luminance)
        .map(|ground| contrast_ratio(background, ground))
        .fold(f64::MAX, f64::min);
    if page_contrast < MIN_CONTRAST_RATIO {
        let message = format!("has a contrast of {} against the page", format_ratio(page_contrast));
        let fix = format!("{change} it until it is 4.5 or more (WCAG 2.2, 1.4.3)");
        check.report(&format!("{key}.background"), message, fix);
    }
}

/// Returns the contrast ratio of two colours `#rrggbb`; `None` if one is none.
pub fn contrast_between(one: &str, other: &str) -> Option<f64> {
    Some(contrast_ratio(luminance(one)?, luminance(other)?))
}

/// Returns the contrast ratio as defined in WCAG 2.2.
fn contrast_ratio(one: f64, other: f64) -> f64 {
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

/// Returns the relative luminance of `#rrggbb` as defined in WCAG 2.2.
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
        let ratio = |a, b| contrast_ratio(luminance(a).unwrap(), luminance(b).unwrap());
        assert!((ratio("#000000", "#ffffff") - 21.0).abs() < 1e-9);
        assert!((ratio("#777777", "#ffffff") - 4.478).abs() < 1e-3, "just below the minimum");
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
            let theme = parse_embedded_theme(&table.to_string(), &mut problems);
            let report: String = problems.iter().map(ToString::to_string).collect();
            assert_eq!(theme.is_some(), expected.is_none(), "{report}");
            assert!(report.contains(expected.unwrap_or_default()), "{background} {text}: {report}");
        }
    }
}
