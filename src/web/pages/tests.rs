//! What holds for every page, in every language.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::arrangement::{Group, Leaf, Title};
use super::gallery::Crowd;
use super::*;
use crate::config::notices::Severity;
use crate::connector::persona::Failure;
use crate::protocol::acr::Level;
use crate::protocol::catalogue::ErrorCode;

const NONCE: &str = "bm9uY2U";
const HERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/web/pages");

/// (language, page, HTML) of the whole gallery.
fn every_page() -> Vec<(Locale, String, String)> {
    let theme = gallery::theme();
    let draw = |locale| {
        let chrome =
            Chrome { locale, nonce: NONCE, theme: &theme, base_path: "/api/v2", notices: &[] };
        gallery::all(&chrome).into_iter().map(move |(name, html)| (locale, name, html))
    };
    Locale::all().flat_map(draw).collect()
}

fn in_french<T>(render: impl FnOnce(&Chrome<'_>) -> T) -> T {
    render(&Chrome {
        locale: Locale::default(),
        nonce: NONCE,
        theme: &gallery::theme(),
        base_path: "/api/v2",
        notices: &[],
    })
}

/// The values of an attribute, in document order.
fn values<'a>(html: &'a str, attribute: &str) -> Vec<&'a str> {
    let opening = format!(" {attribute}=\"");
    html.split(opening.as_str()).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

/// Keys of one language's file.
fn keys(language: &str) -> BTreeSet<String> {
    let folder = fs::read_dir(format!("{HERE}/locales/{language}")).unwrap();
    let text: String =
        folder.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    let key = |line: &str| {
        Some(line.split_once(" =")?.0.to_owned())
            .filter(|key| !key.starts_with([' ', '#', '[', '*']))
    };
    text.lines().filter_map(key).collect()
}

/// The sources that name keys, tests left out.
fn sources() -> String {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { walk(&path, found) } else { found.push(path) }
        }
    }
    let mut found = vec![];
    walk(Path::new(HERE), &mut found);
    let is_source = |path: &&PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        (name.ends_with(".rs") || name.ends_with(".html"))
            && name != "tests.rs"
            && name != "gallery.rs"
    };
    let read = |path: &PathBuf| {
        fs::read_to_string(path).unwrap().split("#[cfg(test)]").next().unwrap().to_owned()
    };
    found.iter().filter(is_source).map(read).collect()
}

#[test]
fn every_language_has_the_same_keys_and_each_is_used() {
    let expected = keys("fr");
    assert!(expected.len() > 100);
    for locale in Locale::all() {
        assert_eq!(keys(&locale.to_string()), expected, "{locale}");
    }
    let sources = sources();
    let mut named: BTreeSet<&str> = sources.split('"').collect();
    named.extend(ErrorCode::ALL.iter().map(|code| code.entry().text));
    // Looked up by the name of what shall go wrong.
    let failures: Vec<String> = Failure::ALL
        .iter()
        .map(|failure| failure.as_str())
        .chain(["none"])
        .map(|id| format!("sandbox-failure-{id}"))
        .collect();
    named.extend(failures.iter().map(String::as_str));
    for key in &expected {
        assert!(named.contains(key.as_str()), "the text `{key}` is used nowhere");
    }
    for call in ["t.text(\"", "t.with(\"", "t.filled(\"", "self.format(\""] {
        for key in sources.split(call).skip(1).filter_map(|rest| rest.split('"').next()) {
            assert!(expected.contains(key), "`{key}` has no text");
        }
    }
}

#[test]
fn every_error_has_a_text_in_every_language() {
    for locale in Locale::all() {
        for code in ErrorCode::ALL {
            let key = code.entry().text;
            assert_ne!(locale.text(key), key, "{locale} {}", code.entry().code);
            assert!(keys(&locale.to_string()).contains(key), "{locale} falls back for `{key}`");
        }
    }
}

#[test]
fn no_page_shows_a_key_or_an_unfilled_value() {
    let keys: Vec<String> = keys("fr").into_iter().filter(|key| key.contains('-')).collect();
    for (locale, name, html) in every_page() {
        let body = html.split("</style>").nth(1).unwrap();
        for key in &keys {
            assert!(!body.contains(&format!(">{key}<")), "{locale} {name}: {key}");
        }
        assert!(!body.contains("{$") && !body.contains("{ $"), "{locale} {name}");
    }
}

#[test]
fn every_page_is_whole_and_accessible_in_outline() {
    for (locale, name, html) in every_page() {
        let count = |what: &str| html.matches(what).count();
        assert!(
            html.starts_with(&format!("<!doctype html>\n<html lang=\"{locale}\" dir=\"ltr\">")),
            "{name}"
        );
        for once in ["<h1>", "<main ", "<header ", "<title>", "</html>", "name=\"viewport\""] {
            assert_eq!(count(once), 1, "{locale} {name}: {once}");
        }
        assert_eq!(count("<button"), count("</button>"), "{name}");
        assert_eq!(count("<form"), count("</form>"), "{name}");
        let ids = values(&html, "id");
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{name}: an id twice");
        assert!(html.contains("Passerelle"), "{name} does not say whose page it is");
    }
}

#[test]
fn nothing_on_a_page_needs_more_than_the_content_security_policy_allows() {
    for (_, name, html) in every_page() {
        assert!(!html.contains(" style=\"") && !html.contains("javascript:"), "{name}");
        let tags = html.split('<').filter_map(|tag| tag.split('>').next());
        for tag in tags.filter(|tag| tag.starts_with(char::is_alphabetic)) {
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
        assert!(values(&html, "src").iter().all(|src| src.starts_with('/')), "{name}");
        for href in ["href", "action"].iter().flat_map(|attribute| values(&html, attribute)) {
            assert!(
                href.starts_with('/')
                    || ["https://sp.example/", "https://hub.example/"]
                        .iter()
                        .any(|host| href.starts_with(host)),
                "{name}: {href}"
            );
        }
    }
}

#[test]
fn every_page_stays_under_30_kilobytes() {
    for (locale, name, html) in every_page() {
        assert!(html.len() < 30_000, "{locale} {name}: {} bytes", html.len());
    }
}

#[test]
fn script_in_names_and_values_stays_inert() {
    const EVIL: &str = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>";
    let evil = || EVIL.to_owned();
    let pages = in_french(|chrome| {
        let provider = Provider {
            id: evil(),
            name: evil(),
            logo: Some(evil()),
            trouble: Some(Trouble::Recent),
        };
        let unavailable = Unavailable { name: evil(), reason: Refusal::Message(evil()) };
        let group = Group {
            title: Title::Category(evil()),
            providers: vec![provider.clone(); 9],
            more: Some((evil(), 99)),
        };
        let leaf = Some(Leaf { page: 2, pages: 3, first: 25, last: 48 });
        let arrangement = Arrangement {
            last_used: Some(provider),
            groups: vec![group],
            unavailable: vec![unavailable],
            total: 9,
            leaf,
            is_search: true,
            query: Some(evil()),
            category: Some(evil()),
            ..Arrangement::default()
        };
        let banner = Some(Banner {
            provider: evil(),
            code: ErrorCode::IdpTimeout,
            message: Some(evil()),
            support_id: evil(),
        });
        let claims = ClaimName::ALL.map(|name| Claim { name, value: Some(evil()) }).to_vec();
        let way = Way::BackToService(Leave::Post {
            action: evil(),
            fields: vec![Field::new(EVIL, EVIL)],
        });
        let link = Way::ServiceHome { href: evil() };
        let said = [Notice { text: evil(), severity: Severity::Warning, link: Some(evil()) }];
        let chrome = &Chrome { notices: &said, ..*chrome };
        vec![
            ChoicePage {
                interaction: evil(),
                choose_csrf: evil(),
                cancel_csrf: evil(),
                service: evil(),
                service_logo: Some(evil()),
                forget_csrf: evil(),
                arrangement,
                banner,
                ..gallery::choice(0)
            }
            .render(chrome),
            ChoicePage {
                arrangement: Crowd::of(9).arranged(None, &gallery::search(EVIL)),
                ..gallery::choice(9)
            }
            .render(chrome),
            ConsentPage {
                service: evil(),
                provider: evil(),
                csrf: evil(),
                claims,
                ..gallery::consent(Question::Consent)
            }
            .render(chrome),
            ErrorPage {
                detail: Some(Detail { code: evil(), line: evil() }),
                service: Some(evil()),
                provider: Some(evil()),
                message: Some(evil()),
                support_id: evil(),
                ways: vec![way.clone(), link],
                ..gallery::error(ErrorCode::BadRequest)
            }
            .render(chrome),
            FormPostPage { action: evil(), fields: vec![Field::new(EVIL, EVIL)], service: evil() }
                .render(chrome),
            ProgressPage { service: evil(), stage: Stage::Away { provider: evil() }, ways: vec![] }
                .render(chrome),
            LoggedOutPage { service: Some(evil()), way: Some(way), unreached: Some(evil()) }
                .render(chrome),
            DemoSignedIn {
                data_provider: Some(evil()),
                level: Level::Eidas2,
                claims: vec![Fact { name: evil(), value: evil() }],
                id_token: TokenParts { seal: Some(evil()), header: evil(), payload: evil() },
                userinfo: TokenParts { seal: None, header: evil(), payload: evil() },
                token_answer: evil(),
            }
            .render(chrome),
            DemoError::Returned { error: evil(), description: Some(evil()) }.render(chrome),
            DemoError::Refused { reason: evil() }.render(chrome),
        ]
    });
    for html in pages {
        assert!(
            html.contains("&#60;script&#62;") || html.contains("&lt;script&gt;"),
            "the value is gone"
        );
        assert!(
            !html.contains("<script>") && !html.contains("<img src=x") && !html.contains("\"'>"),
            "{html}"
        );
    }
}

#[test]
fn the_first_form_is_the_first_available_provider_s() {
    let html = in_french(|chrome| gallery::choice(20).render(chrome));
    let first = html.split("<form").nth(1).unwrap();
    assert!(first.starts_with(" method=\"post\"") && first.contains("/provider\""), "{first}");
    assert!(
        first.contains("name=\"provider\" value=\"idp-0\"")
            && first.contains("name=\"csrf\" value=\"ccc"),
        "{first}"
    );
    let last = html.split("<form").last().unwrap();
    assert!(last.contains("/cancel\"") && last.contains("name=\"csrf\" value=\"ddd"), "{last}");
}

#[test]
fn the_consent_form_s_first_button_says_yes() {
    for question in [Question::Information, Question::Consent] {
        let html = in_french(|chrome| gallery::consent(question).render(chrome));
        let form = html.split("<form").nth(1).unwrap();
        assert!(form.contains("/consent\"") && form.contains("name=\"csrf\""), "{form}");
        let answers: Vec<&str> = form
            .split("name=\"answer\" value=\"")
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap())
            .collect();
        assert_eq!(answers, ["yes", "no"]);
    }
}

#[test]
fn search_forgives_case_and_accents_and_appears_from_eight_up() {
    let found = |query: &str| {
        let arrangement = Crowd::of(20).arranged(None, &gallery::search(query));
        let page = ChoicePage { arrangement, ..gallery::choice(20) };
        in_french(|chrome| page.render(chrome)).matches("name=\"provider\"").count()
    };
    assert_eq!(
        [found("impots"), found("  IMPÔTS "), found("de l"), found("zzz"), found(" ")],
        [1, 1, 3, 0, 20]
    );
    let has_search = |count| {
        in_french(|chrome| gallery::choice(count).render(chrome)).contains("type=\"search\"")
    };
    assert!(!has_search(7) && has_search(8));
}

#[test]
fn headings_go_down_by_one_at_most() {
    for (locale, name, html) in every_page() {
        let levels: Vec<u8> = html
            .split("<h")
            .skip(1)
            .filter_map(|rest| {
                rest.bytes().next().filter(u8::is_ascii_digit).map(|digit| digit - b'0')
            })
            .collect();
        assert!(
            levels.first() == Some(&1) && levels.windows(2).all(|two| two[1] <= two[0] + 1),
            "{locale} {name}: {levels:?}"
        );
    }
}

#[test]
fn of_three_hundred_each_can_be_reached_and_is_there_once() {
    let offered = |page: &Arrangement| -> Vec<String> {
        let grouped = page.groups.iter().flat_map(|group| &group.providers);
        page.last_used.iter().chain(grouped).map(|provider| provider.id.clone()).collect()
    };
    let list = Crowd::of(300);
    for last_used in [None, Some("idp-299"), Some("idp-0"), Some("nobody")] {
        let leaf = |page| list.arranged(last_used, &Asked { page, ..Asked::default() });
        let mut all: Vec<String> =
            (1..=leaf(0).leaf.unwrap().pages).flat_map(|page| offered(&leaf(page))).collect();
        assert_eq!(
            all.first().map(String::as_str),
            Some(if last_used == Some("idp-299") { "idp-299" } else { "idp-0" })
        );
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 300);
        assert_eq!(offered(&leaf(99)), offered(&leaf(13)), "beyond the end is the end");
    }
    let many = Crowd::of(300).in_categories();
    let overview = many.arranged(None, &Asked::default());
    assert!(overview.is_overview && offered(&overview).len() <= 26);
    let more: Vec<_> = overview.groups.iter().map(|group| group.more.clone().unwrap()).collect();
    assert_eq!(more.iter().map(|(_, count)| count).sum::<usize>(), 300);
    let remembering = many.arranged(Some("idp-7"), &Asked::default());
    assert!(
        remembering.groups.iter().zip(&more).all(|(group, more)| group.more.as_ref() == Some(more)),
        "its category still has it"
    );
    let mut all = Vec::new();
    for (category, count) in more {
        for page in 1..=count.div_ceil(24) {
            all.extend(offered(&many.arranged(
                Some("idp-0"),
                &Asked { category: Some(category.clone()), page, query: None },
            )));
        }
    }
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 300, "by the categories' pages too");
}

#[test]
fn what_makes_no_sense_in_an_address_is_as_if_it_were_not_there() {
    let crowd = Crowd::of(12).in_categories();
    let plain = crowd.arranged(None, &Asked::default());
    for asked in [
        Asked { category: Some("<script>".into()), ..Asked::default() },
        Asked { page: usize::MAX, ..Asked::default() },
        gallery::search(" ’ "),
    ] {
        let page = crowd.arranged(None, &asked);
        assert_eq!(
            (&page.groups, &page.query, &page.category),
            (&plain.groups, &None, &None),
            "{asked:?}"
        );
    }
}

#[test]
fn those_that_can_not_be_chosen_come_last_with_their_reasons_and_are_never_many() {
    let crowd = (0..40).fold(Crowd::of(1), |crowd, n| {
        crowd.without(&format!("Fermé {n}"), Refusal::NotForThisService)
    });
    let page = crowd.without("En panne", Refusal::InTrouble).arranged(None, &Asked::default());
    assert_eq!((page.unavailable.len(), page.unavailable_more), (6, 35));
    assert_eq!(page.unavailable[0].name, "En panne", "what may be over tomorrow first");
    // Nor is one of them shown as the last used.
    let refused = Crowd::of(1).without("Fermé", Refusal::Off);
    assert_eq!(refused.arranged(Some("not-1"), &Asked::default()).last_used, None);
}

#[test]
fn deceased_and_refused_look_like_any_other_no() {
    let page = |code| in_french(|chrome| gallery::error(code).render(chrome));
    assert_eq!(page(ErrorCode::RegisterDeceased), page(ErrorCode::RegisterAnswer));
    assert_eq!(page(ErrorCode::RegisterRefused), page(ErrorCode::RegisterAnswer));
}

#[test]
fn names_by_language_reach_the_page() {
    let names = |fr: &str, en: &str| {
        BTreeMap::from([("fr".to_owned(), fr.to_owned()), ("en".to_owned(), en.to_owned())])
    };
    let theme =
        Theme { name: names("Mon Guichet", "My Desk"), logo: Some(LOGO_PATH), ..Theme::default() };
    let locale = negotiate(&["en".to_owned()], None);
    let html = gallery::choice(1).render(&Chrome {
        locale,
        nonce: NONCE,
        theme: &theme,
        base_path: "/api/v2",
        notices: &[],
    });
    assert!(
        html.contains("<title>Choose an account – My Desk</title>")
            && html.contains("src=\"/assets/logo\"")
    );
}

/// Writes `target/pages/{language}/{page}.html`, to be looked at.
#[test]
fn the_gallery_is_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/pages");
    for (locale, name, html) in every_page() {
        let folder = folder.join(locale.to_string());
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("{name}.html")), html).unwrap();
    }
    assert!(folder.join("fr/choice-3.html").exists());
}
