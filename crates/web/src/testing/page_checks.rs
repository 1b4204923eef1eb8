//! The rules that every page keeps, in every language.

use std::collections::BTreeSet;

use crate::pages::{Locale, PageChrome, PageTheme};
use crate::theme::support_url::SupportUrlTemplate;
use crate::theme::{FooterLink, PageLink};
use passerelle_localization::Languages;

/// Nonce of the pages that [`render_in_every_language`] renders.
const NONCE: &str = "bm9uY2U";

/// Returns a theme with every part.
pub fn sample_theme() -> PageTheme {
    let link = |french: &str, english: &str, page: &str| FooterLink {
        label: [("fr", french), ("en", english)]
            .map(|(language, text)| (language.to_owned(), text.to_owned()))
            .into(),
        message: None,
        url: format!("https://hub.example/{page}"),
        purpose: None,
    };
    let footer = vec![
        link("Aide", "Help", "help"),
        link("Accessibilité : non conforme", "Accessibility", "accessibility"),
        link("Données personnelles", "Privacy", "privacy"),
    ];
    let support = "https://hub.example/help?code={code}&number={support_id}&service={service}&account={identity_provider}";
    let register_correction = Some(PageLink {
        label: [("fr", "État civil de votre commune"), ("en", "Civil registry of your town")]
            .map(|(language, text)| (language.to_owned(), text.to_owned()))
            .into(),
        url: "https://hub.example/register".into(),
    });
    PageTheme {
        footer,
        support: SupportUrlTemplate::parse(support).ok(),
        register_correction,
        ..PageTheme::default()
    }
}

/// A rendered page in one language.
pub struct RenderedPage {
    pub locale: Locale,
    pub name: String,
    pub html: String,
}

/// Renders pages in every language of `languages`.
pub fn render_in_every_language(
    languages: &Languages,
    theme: &PageTheme,
    render: impl Fn(&PageChrome<'_>) -> Vec<(String, String)>,
) -> Vec<RenderedPage> {
    let mut pages = Vec::new();
    for locale in languages.locales() {
        let rendered = render(&chrome(locale, theme, languages));
        pages.extend(rendered.into_iter().map(|(name, html)| RenderedPage {
            locale: locale.clone(),
            name,
            html,
        }));
    }
    pages
}

/// Returns what every page needs.
pub fn chrome<'a>(
    locale: &'a Locale,
    theme: &'a PageTheme,
    languages: &'a Languages,
) -> PageChrome<'a> {
    PageChrome {
        locale,
        nonce: NONCE,
        theme,
        base_path: "/api/v2",
        notices: &[],
        languages,
        return_path: Some("/api/v2/interaction/abc?a=b&c=d"),
    }
}

/// Checks everything that a page promises without its texts: it is complete, has an accessible
/// structure, needs no more than its content security policy allows, and is small.
pub fn check_pages(pages: &[RenderedPage]) {
    assert!(!pages.is_empty());
    for RenderedPage { locale, name, html } in pages {
        check_structure(locale, name, html);
        check_headings(locale, name, html);
        check_policy(name, html);
        check_alert(locale, name, html);
        assert!(html.len() < 30_000, "{locale} {name}: {} bytes", html.len());
    }
}

fn check_structure(locale: &Locale, name: &str, html: &str) {
    let count = |what: &str| html.matches(what).count();
    let direction = if locale.tag() == "ar" { "rtl" } else { "ltr" };
    let opening = format!("<!doctype html>\n<html lang=\"{locale}\" dir=\"{direction}\">");
    assert!(html.starts_with(&opening), "{locale} {name}");
    for once in ["<h1>", "<main ", "<header ", "<title>", "</html>", "name=\"viewport\""] {
        assert_eq!(count(once), 1, "{locale} {name}: {once}");
    }
    assert_eq!(count("<button"), count("</button>"), "{name}");
    assert_eq!(count("<form"), count("</form>"), "{name}");
    let ids = attribute_values(html, "id");
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{name}: an id twice");
    assert!(html.contains("Passerelle"), "{name} does not name the hub");
}

fn check_headings(locale: &Locale, name: &str, html: &str) {
    let levels: Vec<u8> = html
        .split("<h")
        .skip(1)
        .filter_map(|rest| rest.bytes().next().filter(u8::is_ascii_digit).map(|digit| digit - b'0'))
        .collect();
    assert!(
        levels.first() == Some(&1) && levels.windows(2).all(|two| two[1] <= two[0] + 1),
        "{locale} {name}: {levels:?}"
    );
}

/// After an error the title begins with it, and the focus is on it.
fn check_alert(locale: &Locale, name: &str, html: &str) {
    let Some((_, alert)) = html.split_once(" role=\"alert\"") else { return };
    let (attributes, content) = alert.split_once('>').unwrap();
    let content = content.split("</div>").next().unwrap();
    let Some((_, error)) = content.split_once("<strong>") else { return };
    let error = error.split("</strong>").next().unwrap().replace("<bdi>", "").replace("</bdi>", "");
    assert!(attributes.contains("tabindex=\"-1\" autofocus"), "{locale} {name}");
    assert!(html.contains(&format!("<title>{error} – ")), "{locale} {name}: {error}");
}

fn check_policy(name: &str, html: &str) {
    assert!(!html.contains(" style=\"") && !html.contains("javascript:"), "{name}");
    for handler in ["paste", "keydown", "beforeinput"] {
        let scripts = html.split("<script").skip(1);
        let mut scripts = scripts.filter_map(|script| script.split("</script>").next());
        assert!(!scripts.any(|script| script.contains(handler)), "{name}: {handler}");
    }
    let tags = html.split('<').filter_map(|tag| tag.split('>').next());
    for tag in tags.filter(|tag| tag.starts_with(|c: char| c.is_ascii_alphabetic())) {
        assert!(!tag.contains(" on"), "{name}: an inline handler in <{tag}>");
    }
    assert_eq!(
        html.matches("<style nonce=\"bm9uY2U\">").count(),
        html.matches("<style").count(),
        "{name}"
    );
    assert_eq!(
        html.matches("<script nonce=\"bm9uY2U\">").count(),
        html.matches("<script").count(),
        "{name}"
    );
    assert!(
        !html.contains("url(") && !html.contains("@import") && !html.contains("<link"),
        "{name}"
    );
    assert!(attribute_values(html, "src").iter().all(|src| src.starts_with('/')), "{name}");
    for href in ["href", "action"].iter().flat_map(|attribute| attribute_values(html, attribute)) {
        assert!(
            href.starts_with('/')
                || [
                    "https://sp.example/",
                    "https://hub.example/",
                    // Links that open a wallet; the policy does not concern links.
                    "https://wallet.example/",
                    "openid4vp://?",
                ]
                .iter()
                .any(|host| href.starts_with(host)),
            "{name}: {href}"
        );
    }
}

/// Returns the values of an attribute, in document order.
pub fn attribute_values<'a>(html: &'a str, attribute: &str) -> Vec<&'a str> {
    let opening = format!(" {attribute}=\"");
    html.split(opening.as_str()).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}
