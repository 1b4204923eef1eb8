//! Tests of negotiation, and of the messages of each built-in language.

use std::path::Path;
use std::sync::LazyLock;

use super::built_in::{catalogue, variables};
use super::message_file::{Placeable, placeables};
use super::*;

fn languages() -> &'static Languages {
    static LANGUAGES: LazyLock<Arc<Languages>> = LazyLock::new(Languages::built_in);
    &LANGUAGES
}

fn file(language: &str, text: &str) -> Arc<MessageFile> {
    Arc::new(MessageFile::from_text(language, text.to_owned()).unwrap())
}

fn problems(text: &str) -> Vec<String> {
    let problems = MessageFile::from_text("de", text.to_owned()).unwrap_err();
    problems.into_iter().map(|one| format!("{}: {}; {}", one.key, one.message, one.fix)).collect()
}

/// Returns each built-in language with its tag and its text.
fn built_in_texts() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("locales");
    let mut texts = Vec::new();
    for language in std::fs::read_dir(folder).unwrap() {
        let path = language.unwrap().path();
        let text = std::fs::read_to_string(path.join("pages.ftl")).unwrap();
        texts.push((path.file_name().unwrap().to_str().unwrap().to_owned(), text));
    }
    texts.sort();
    texts
}

#[test]
fn the_language_is_the_one_asked_else_the_default() {
    for (ui_locales, accept_language, expected) in [
        (&[][..], None, "fr"),
        (&[], Some("da, ja;q=0.5"), "fr"),
        (&[], Some("da, de-AT;q=0.5"), "de"),
        (&[], Some("en"), "en"),
        (&[], Some("en-GB,en;q=0.9,fr;q=0.8"), "en"),
        (&[], Some("en;q=0.3, fr-CA;q=0.7"), "fr"),
        (&[], Some("en;q=0, *"), "fr"),
        (&[], Some("en;q=rubbish,,;;;"), "fr"),
        (&["en-US"], Some("fr"), "en"),
        (&["da", "en", "fr"], Some("fr"), "en"),
        (&["\u{0}", ""], Some("en"), "en"),
    ] {
        let ui_locales: Vec<String> = ui_locales.iter().map(ToString::to_string).collect();
        assert_eq!(
            languages().negotiate(None, &ui_locales, accept_language).to_string(),
            expected,
            "{ui_locales:?} {accept_language:?}"
        );
    }
}

#[test]
fn the_users_choice_of_language_has_precedence() {
    let ui_locales = ["en".to_owned()];
    for (chosen, expected) in [("ar", "ar"), ("xx", "en"), ("<b>", "en"), ("", "en")] {
        let locale = languages().negotiate(Some(chosen), &ui_locales, Some("it"));
        assert_eq!(locale.tag(), expected, "{chosen}");
    }
}

#[test]
fn names_by_language_fall_back_to_the_default_language() {
    let names = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect()
    };
    let german = Languages::new("de", &[]);
    let (en, es) = (languages().find("en").unwrap(), german.find("es").unwrap());
    for (locale, pairs, expected, language) in [
        (en, &[("en", "Taxes"), ("fr", "Impôts")][..], "Taxes", None),
        (en, &[("br", "Tailhoù"), ("fr", "Impôts")], "Impôts", Some("fr")),
        (en, &[("br", "Tailhoù")], "Tailhoù", Some("br")),
        (en, &[], "", None),
        (es, &[("en", "Taxes"), ("de", "Steuern")], "Steuern", Some("de")),
        (es, &[("br", "Tailhoù"), ("en", "Taxes")], "Taxes", Some("en")),
    ] {
        let names = names(pairs);
        let shown = locale.localize(&names);
        assert_eq!((shown.text(), shown.language()), (expected, language));
    }
}

#[test]
fn every_folder_of_messages_is_a_built_in_language() {
    let folders: Vec<String> = built_in_texts().into_iter().map(|(tag, _)| tag).collect();
    let tags: Vec<String> = languages().locales().map(ToString::to_string).collect();
    assert_eq!(folders, tags);
    assert_eq!(tags, ["ar", "de", "en", "es", "fr", "it", "nl", "pl", "pt", "ro"]);
    let names: Vec<&str> = languages().locales().map(Locale::name).collect();
    assert_eq!((names[0], names[1], names[9]), ("العربية", "Deutsch", "Română"));
    let rtl: Vec<&str> = languages()
        .locales()
        .filter(|locale| locale.direction() == "rtl")
        .map(Locale::tag)
        .collect();
    assert_eq!(rtl, ["ar"]);
}

#[test]
fn no_built_in_language_has_a_syntax_error_a_missing_or_an_unknown_message() {
    let catalogue = catalogue();
    let expected: Vec<&str> = catalogue.message_keys().collect();
    assert!(expected.len() > 200);
    for (tag, text) in built_in_texts() {
        let parsed = fluent_syntax::parser::parse(text.as_str());
        assert!(parsed.is_ok(), "{tag}: {:?}", parsed.unwrap_err().1);
        let resource = FluentResource::try_new(text.clone()).unwrap();
        let keys = variables(&resource);
        assert_eq!(keys.keys().map(String::as_str).collect::<Vec<_>>(), expected, "{tag}");
        // The checks of an operator's file: known variables, no control characters, length.
        assert_eq!(MessageFile::from_text(&tag, text).err(), None, "{tag}");
    }
}

#[test]
fn every_built_in_language_shows_the_same_values() {
    let catalogue = catalogue();
    // An amount may be in the words of a variant: `[one] one account`.
    let amounts = ["total", "minutes", "seconds"];
    for (tag, text) in built_in_texts() {
        for (key, mut names) in variables(&FluentResource::try_new(text).unwrap()) {
            let mut expected = catalogue.message_variables(&key).unwrap().clone();
            for amount in amounts {
                names.remove(amount);
                expected.remove(amount);
            }
            assert_eq!(names, expected, "{tag} {key}");
        }
    }
}

#[test]
fn a_number_has_the_plural_of_its_language() {
    for (tag, minutes, expected) in [
        ("en", 1, "Wait one minute,"),
        ("en", 2, "Wait 2 minutes,"),
        ("fr", 1, "Attendez une minute,"),
        ("pl", 1, "jedną minutę i"),
        ("pl", 22, "22 minuty i"),
        ("pl", 12, "12 minut i"),
        ("ro", 1, "un minut,"),
        ("ro", 19, "19 minute,"),
        ("ro", 20, "20 de minute,"),
        ("ar", 1, "دقيقة واحدة"),
        ("ar", 2, "دقيقتين"),
        ("ar", 10, "10 دقائق"),
        ("ar", 11, "11 دقيقة"),
        ("ar", 100, "100 دقيقة"),
    ] {
        let locale = languages().find(tag).unwrap();
        let text = locale.text_with_values("sign-in-wait", [("minutes", minutes.into())]);
        assert!(text.contains(expected), "{tag} {minutes}: {text}");
    }
}

/// Titles and buttons have little room: on a phone, two lines of a button hold some 70 characters.
#[test]
fn no_built_in_title_or_button_is_much_longer_than_the_english_one() {
    let catalogue = catalogue();
    let english = languages().find("en").unwrap();
    for locale in languages().locales() {
        for key in catalogue.message_keys() {
            let short =
                key.ends_with("-title") || key.ends_with("-go") || key.starts_with("action-");
            let (text, model) = (locale.text(key), english.text(key));
            let (length, model) = (text.chars().count(), model.chars().count());
            // Measured on these ten languages: the longest title has 2.6 times the characters.
            let most = if short { (3 * model).max(24) } else { (5 * model / 2).max(60) };
            assert!(length <= most, "{locale} {key}: {length} characters, English {model}: {text}");
        }
    }
}

#[test]
fn a_file_adds_a_language_whose_other_messages_are_the_default_language_s() {
    let breton = file("br", "language-name = Brezhoneg\nchoice-title = Dibabit ur gont\n");
    let languages = Languages::new("de", &[breton]);
    let locale = languages.find("br-FR").unwrap();
    assert_eq!((locale.name(), locale.direction()), ("Brezhoneg", "ltr"));
    assert_eq!(locale.text("choice-title"), "Dibabit ur gont");
    assert_eq!(locale.text("consent-yes"), languages.find("de").unwrap().text("consent-yes"));
    assert_eq!(languages.default_locale().tag(), "de");
    let hebrew = Languages::new("de", &[file("he", "choice-title = בחירת חשבון")]);
    let locale = hebrew.find("he").unwrap();
    assert_eq!((locale.name(), locale.direction()), ("he", "rtl"));
}

#[test]
fn a_file_replaces_messages_of_a_built_in_language_and_no_others() {
    let first = file("en", "choice-title = First\nchoice-none = None\n");
    let languages = Languages::new("fr", &[first, file("en", "choice-title = Second")]);
    let english = languages.find("en").unwrap();
    assert_eq!(
        (english.text("choice-title").as_str(), english.text("choice-none").as_str()),
        ("Second", "None")
    );
    assert_eq!(english.text("consent-yes"), "Yes, I agree");
    assert_eq!(languages.default_locale().text("choice-title"), "Choisissez un compte");
    assert_eq!(Languages::new("xx", &[]).default_locale().tag(), "en");
}

#[test]
fn a_message_that_the_pages_can_not_show_is_refused() {
    for (text, expected) in [
        ("choice-titel = x", "choice-titel: is not a message of the pages; "),
        (
            "choice-title = { $service }",
            "choice-title: uses the unknown variable $service; remove it",
        ),
        (
            "inform-go = { $servise }",
            "inform-go: uses the unknown variable $servise; use: $service",
        ),
        ("choice-title = { other }", "choice-title: uses a reference to another message"),
        ("choice-title = { -brand }", "choice-title: uses a term"),
        ("-brand = x", "-brand: is a term"),
        ("choice-title = { NUMBER(3) }", "choice-title: uses a function"),
        ("choice-title = { \"\\u202E\" }", "choice-title: uses an escaped character"),
        ("choice-title = x\n    .hint = y", "choice-title: has an attribute"),
        ("choice-title = a\u{202e}b", "choice-title: contains a control character"),
    ] {
        let found = problems(text);
        assert!(found.iter().any(|one| one.starts_with(expected)), "{text}: {found:?}");
    }
    assert!(problems(&format!("choice-title = {}", "x".repeat(2001)))[0].contains("2000"));
}

#[test]
fn variants_are_searched_for_values_too() {
    let text = "choice-found = { $total ->\n    [one] { $x }\n   *[other] { $total }\n}\n";
    assert!(problems(text)[0].starts_with("choice-found: uses the unknown variable $x"));
    let resource = FluentResource::try_new(text.to_owned()).unwrap();
    let Some(fluent_syntax::ast::Entry::Message(message)) = resource.get_entry(0) else { panic!() };
    let expected = ["total", "x", "total"].map(Placeable::Variable);
    assert_eq!(placeables(message), expected);
}
