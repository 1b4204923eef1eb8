//! The theme of the pages: name, logo, accent colours and footer links of one hub.
//!
//! Does not read files: [`crate::theme`] does, and checks colours, contrast and links.

use std::collections::BTreeMap;

use crate::theme;
use crate::theme::fragments::Fragments;
use crate::theme::support_url::{SupportDetails, SupportUrlTemplate};
use crate::theme::{Accent, Accents, FooterLink, PageLink};

/// Path of the theme's logo. Pages load images from the hub only.
pub const LOGO_PATH: &str = "/assets/logo";
/// Path of the theme's icon of browser tabs.
pub const FAVICON_PATH: &str = "/assets/favicon";

/// Theme of the pages, built from a checked [`theme::Theme`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PageTheme {
    /// The hub's name by language, on every page.
    pub name: BTreeMap<String, String>,
    /// Path on this host, square.
    pub logo: Option<&'static str>,
    pub accent: Accents,
    /// Path on this host.
    pub favicon: Option<&'static str>,
    /// Page fragments and a style sheet.
    pub fragments: Fragments,
    /// The operator's support.
    pub support: Option<SupportUrlTemplate>,
    /// Who corrects the register of persons.
    pub register_correction: Option<PageLink>,
    pub footer: Vec<FooterLink>,
}

impl PageTheme {
    /// Returns the support's address, filled with what a page knows; `None` without a support.
    pub(super) fn support_link(&self, details: &SupportDetails<'_>) -> Option<String> {
        self.support.as_ref().map(|support| support.expand(details))
    }
}

impl From<&theme::Theme> for PageTheme {
    fn from(theme: &theme::Theme) -> Self {
        Self {
            name: theme.name.clone(),
            logo: theme.logo.as_ref().map(|_| LOGO_PATH),
            accent: theme.accent.clone(),
            favicon: theme.favicon.as_ref().map(|_| FAVICON_PATH),
            fragments: theme.fragments.clone(),
            support: theme.support.clone(),
            register_correction: theme.register_correction.clone(),
            footer: theme.footer.clone(),
        }
    }
}

/// The built-in theme.
impl Default for PageTheme {
    fn default() -> Self {
        let name = |language: &str| (language.to_owned(), "Passerelle".to_owned());
        let accent = |background: &str, text: &str| Accent {
            background: background.to_owned(),
            text: text.to_owned(),
        };
        Self {
            name: BTreeMap::from(["fr", "en"].map(name)),
            logo: None,
            accent: Accents {
                light: accent("#0b4f8a", "#ffffff"),
                dark: accent("#8cc4ff", "#0a1a2b"),
            },
            favicon: None,
            fragments: Fragments::default(),
            support: None,
            register_correction: None,
            footer: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use passerelle_federation::logo::Logo;

    #[test]
    fn the_default_is_the_built_in_theme() {
        assert_eq!(
            theme::built_in_theme(&mut Vec::new()).as_ref().map(PageTheme::from),
            Some(PageTheme::default())
        );
    }

    #[test]
    fn a_logo_is_shown_from_the_hub_s_own_path() {
        let mut built_in = theme::built_in_theme(&mut Vec::new()).unwrap();
        built_in.logo = Some(Logo::new("image/png", b"png".to_vec()));
        assert_eq!(PageTheme::from(&built_in).logo, Some("/assets/logo"));
    }

    #[test]
    fn initials_are_readable_on_each_of_their_colours() {
        let style = include_str!("templates/style.css");
        for number in 0..super::super::choice::INITIALS_COLOURS {
            let rule = style.split(&format!(".initials{number}{{background:")).nth(1).unwrap();
            let (background, rest) = rule.split_once(';').unwrap();
            assert!(rest.starts_with("color:#fff}"), "{number}");
            assert!(theme::contrast_between(background, "#ffffff").unwrap() >= 4.5, "{number}");
        }
    }

    #[test]
    fn the_grounds_checked_against_are_those_of_the_style_sheet() {
        let style = include_str!("templates/style.css");
        let [card, page] = theme::LIGHT_BACKGROUNDS;
        assert_eq!(card, "#ffffff");
        assert!(style.contains("--card:#fff;") && style.contains(&format!("--ground:{page};")));
        let [card, page] = theme::DARK_BACKGROUNDS;
        assert!(
            style.contains(&format!("--card:{card};"))
                && style.contains(&format!("--ground:{page};"))
        );
    }
}
