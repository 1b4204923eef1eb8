//! Finds texts of a registration that mislead the people who read them: hidden characters, and names
//! and hosts that look like those of others (Unicode Technical Standard #39; RFC 7591 §5).
//!
//! Responsible for what a text looks like. Does not know whose names and hosts are taken.

#![expect(clippy::disallowed_methods, reason = "names are text that people write, in any script")]

use icu_properties::props::{
    BinaryProperty as _, DefaultIgnorableCodePoint, EnumeratedProperty as _, GeneralCategory,
};
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;
use unicode_script::{Script, UnicodeScript as _};
use unicode_security::general_security_profile::IdentifierType;
use unicode_security::mixed_script::AugmentedScriptSet;
use unicode_security::{GeneralSecurityProfile as _, skeleton};
use url::Host;
use url::quirks::domain_to_unicode;

/// Maximum number of combining marks on one letter (Unicode Technical Standard #39 §5.4). More of
/// them cover the lines around the text.
const MAX_MARKS_PER_LETTER: usize = 4;

/// Top-level domains of two letters: the codes of ISO 3166-1, and `ac`, `eu`, `su` and `uk`. No
/// other pair of Latin letters is delegated (RFC 1591 §2), so that `Node.js` is no host.
const COUNTRY_CODES: &str = "ac ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bl bm bn bo bq \
    br bs bt bv bw by bz ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do \
    dz ec ee eg eh er es et eu fi fj fk fm fo fr ga gb gd ge gf gg gh gi gl gm gn gp gq gr gs gt \
    gu gw gy hk hm hn hr ht hu id ie il im in io iq ir is it je jm jo jp ke kg kh ki km kn kp kr \
    kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc md me mf mg mh mk ml mm mn mo mp mq mr ms mt \
    mu mv mw mx my mz na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt \
    pw py qa re ro rs ru rw sa sb sc sd se sg sh si sj sk sl sm sn so sr ss st su sv sx sy sz tc \
    td tf tg th tj tk tl tm tn to tr tt tv tw tz ua ug uk um us uy uz va vc ve vg vi vn vu wf ws \
    ye yt za zm zw";

/// What a text looks like, by case.
pub(super) type LookAlikeKeys = [String; 3];

/// What is wrong with a name, and how to correct it.
pub(super) type NameError = (&'static str, &'static str);

/// Returns true for characters that are invisible, or that each font draws differently.
pub(super) fn is_deceptive_char(c: char) -> bool {
    DefaultIgnorableCodePoint::for_char(c)
        || matches!(
            GeneralCategory::for_char(c),
            GeneralCategory::Control
                | GeneralCategory::Format
                | GeneralCategory::LineSeparator
                | GeneralCategory::ParagraphSeparator
                | GeneralCategory::PrivateUse
                | GeneralCategory::Unassigned
        )
}

/// Checks that people can read a name, whatever names others have.
///
/// # Errors
/// Returns the first rule that the name breaks.
pub(super) fn check_readable(name: &str) -> Result<(), NameError> {
    let composed = fold_compatibility(name);
    if !composed.chars().any(char::is_alphanumeric) {
        return Err(("has no letter and no digit", "send a name that people can read"));
    }
    let decomposed: Vec<char> = composed.nfd().collect();
    let mut runs = decomposed.split(|c| !is_combining_mark(*c));
    if runs.any(|marks| marks.len() > MAX_MARKS_PER_LETTER) {
        return Err(("has a letter with more than four marks", "leave the marks out"));
    }
    if composed.chars().any(is_look_alike_letter) {
        let message = "contains a letter that only phonetic or historic texts use, and that looks like another one";
        return Err((message, "write it with the letters of one alphabet"));
    }
    let mut words = composed.split(|c: char| !c.is_alphanumeric() && !is_combining_mark(c));
    if words.any(mixes_scripts) {
        let message = "mixes alphabets within a word, for example Latin and Cyrillic letters";
        return Err((message, "write each word with the letters of one alphabet"));
    }
    Ok(())
}

/// Small capitals and the like: `ᴍ` is no compatibility form of `m`.
fn is_look_alike_letter(c: char) -> bool {
    matches!(
        GeneralCategory::for_char(c),
        GeneralCategory::UppercaseLetter | GeneralCategory::LowercaseLetter
    ) && matches!(
        c.identifier_type(),
        Some(IdentifierType::Technical | IdentifierType::Obsolete | IdentifierType::Deprecated)
    )
}

/// Returns true for letters of two scripts in a word, unless they are Latin letters in Chinese,
/// Japanese or Korean text (Unicode Technical Standard #39 §5.2, Highly Restrictive).
fn mixes_scripts(word: &str) -> bool {
    if !AugmentedScriptSet::for_str(word).is_empty() {
        return false;
    }
    let rest: String = word.chars().filter(|c| c.script() != Script::Latin).collect();
    let rest = AugmentedScriptSet::for_str(&rest);
    !(rest.jpan || rest.kore || rest.hanb)
}

/// Returns what a name looks like. Names that have a key in common look alike: they differ by case,
/// accents, spaces and punctuation at most, or by letters that are drawn alike.
pub(super) fn name_keys(name: &str) -> LookAlikeKeys {
    look_alike_keys(name, char::is_alphanumeric)
}

/// Returns what a host looks like in the address bar. Hosts that have a key in common look alike.
pub(super) fn host_keys(host: &str) -> LookAlikeKeys {
    look_alike_keys(&domain_to_unicode(host), |c| c.is_alphanumeric() || matches!(c, '.' | '-'))
}

/// Returns true if the texts of the keys look alike.
pub(super) fn share_key(one: &LookAlikeKeys, other: &LookAlikeKeys) -> bool {
    one.iter().any(|key| other.contains(key))
}

/// The letters of each case resemble others: `lMPOTS` with a small L looks like `IMPOTS`, which is the
/// name `impots`, and Cyrillic `К` looks like `K`, but `к` does not look like `k`.
fn look_alike_keys(text: &str, is_kept: impl Fn(char) -> bool) -> LookAlikeKeys {
    let plain = fold_compatibility(text);
    let drawn_as = |text: &str| fold_case(&skeleton(text).collect::<String>());
    let upper: String = plain.chars().flat_map(char::to_uppercase).collect();
    [fold_case(&plain), drawn_as(&plain), drawn_as(&upper)].map(|folded| {
        let drawn = drawn_as(&folded);
        let is_accent = |c: &char| is_combining_mark(*c) && c.script() == Script::Inherited;
        let key: String = drawn.nfd().filter(|c| !is_accent(c)).filter(|c| is_kept(*c)).collect();
        // A name of symbols alone is compared by its symbols.
        if key.is_empty() { folded } else { key }
    })
}

/// Returns the compatibility composition (NFKC), with the letters in circles, squares and flags,
/// which have none, as plain letters.
fn fold_compatibility(text: &str) -> String {
    let plain = |c: char| {
        let first = match c {
            '\u{1f150}'..='\u{1f169}' => '\u{1f150}',
            '\u{1f170}'..='\u{1f189}' => '\u{1f170}',
            '\u{1f1e6}'..='\u{1f1ff}' => '\u{1f1e6}',
            _ => return c,
        };
        let letter = u8::try_from(u32::from(c) - u32::from(first)).unwrap_or_default();
        char::from(b'A'.saturating_add(letter))
    };
    text.chars().map(plain).nfkc().collect()
}

/// Folds case. Upper case first, so that `ß` and `SS` are the same.
fn fold_case(text: &str) -> String {
    text.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

/// Returns the hosts that a name mentions, by URL or by the name of the host alone, as addresses
/// have them.
pub(super) fn mentioned_hosts(name: &str) -> Vec<String> {
    let is_inner = |c: char| c.is_alphanumeric() || is_combining_mark(c) || matches!(c, '-' | '.');
    // IDNA takes the ideographic full stop for a dot.
    let name = fold_case(&fold_compatibility(name)).replace('\u{3002}', ".");
    let mut hosts = Vec::new();
    let mut before = String::new();
    for part in name.split_inclusive(|c| !is_inner(c)) {
        let word = part.trim_end_matches(|c| !is_inner(c)).trim_matches(['.', '-']);
        let is_host = before.ends_with("://") || has_form_of_host(word);
        if is_host && let Ok(host) = Host::parse(word) {
            hosts.push(host.to_string());
        }
        before.push_str(part);
    }
    hosts
}

/// Returns true for `example.org`, for four numbers with dots, and for a name that begins with
/// `www.`.
fn has_form_of_host(word: &str) -> bool {
    let labels: Vec<&str> = word.split('.').collect();
    let is_address = labels.len() == 4 && labels.iter().all(|label| label.parse::<u8>().is_ok());
    let is_top_level = |label: &str| match label.chars().count() {
        0 | 1 => false,
        2 if label.is_ascii() => COUNTRY_CODES.split(' ').any(|code| code == label),
        _ => label.chars().next().is_some_and(char::is_alphabetic),
    };
    let is_domain = labels.len() >= 2
        && !labels.iter().any(|label| label.is_empty())
        && labels.last().is_some_and(|label| is_top_level(label));
    is_address || is_domain || word.starts_with("www.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look_alike(one: &str, other: &str) -> bool {
        share_key(&name_keys(one), &name_keys(other))
    }

    #[test]
    fn names_that_people_take_for_each_other_share_a_key() {
        for (name, taken) in [
            ("The B\u{430}kery", "The Bakery"),    // Cyrillic a
            ("Ｔｈｅ Ｂａｋｅｒｙ", "The Bakery"), // full width
            ("𝐓𝐡𝐞 𝑩𝒂𝒌𝒆𝒓𝒚", "The Bakery"),          // mathematical letters
            ("🅣🅗🅔 🅱🅐🅚🅔🅡🅨", "The Bakery"),          // letters in circles and squares
            ("THE-bakery!", "The Bakery"),
            ("The Bàkery", "The Bakery"),
            ("lmpôts", "Impôts"), // a small L
            ("lMPOTS", "Impôts"),
            ("1mp0ts", "Impôts"),
            ("lrnpots", "Impots"),                    // r and n
            ("\u{421}\u{41e}\u{420}\u{415}", "COPE"), // Cyrillic alone
            ("STRASSE", "Straße"),
            ("Кіоѕк", "Kiosk"), // Cyrillic letters, whose small k differs
            ("The\u{a0}Bakery\u{2800}", "The Bakery"),
            ("Bibliothe\u{300}que", "Bibliothèque"),
        ] {
            assert!(look_alike(name, taken), "{name} and {taken}: {:?}", name_keys(name));
        }
        for (name, other) in [
            ("The Brewery", "The Bakery"),
            ("Бухгалтерия", "The Bakery"),
            ("図書館", "図書室"),
            ("★", "☆"),
            ("Library 1", "Library 2"),
        ] {
            assert!(!look_alike(name, other), "{name} and {other}");
        }
    }

    #[test]
    fn names_in_any_one_script_are_readable() {
        for name in [
            "Corner shop",
            "Bibliothèque n° 5",
            "Βιβλιοθήκη",
            "Бухгалтерия",
            "ספרייה",
            "مكتبة",
            "पुस्तकालय",
            "图书馆",
            "図書館サービス",
            "도서관",
            "հայերեն",
            "ห้องสมุด",
            "Zürich AG",
            "Łódź",
            "Яндекс Pay",
            "LINEアプリ",
            "ⵜⵉⴼⵉⵏⴰⵖ",
            "Şəki",
            "Tiếng Việt",
            "O’Neill & Sons",
            "3D-Druck",
        ] {
            assert_eq!(check_readable(name), Ok(()), "{name}");
            assert!(!name.chars().any(is_deceptive_char), "{name}");
        }
    }

    #[test]
    fn blank_covered_and_mixed_names_are_not_readable() {
        for name in [
            "\u{2800}",
            "★ ☆",
            " - ",
            "P\u{430}ypal",
            "Αpple",
            "ᴛʜᴇ ʙᴀᴋᴇʀʏ",
            &format!("a{}", "\u{300}".repeat(5)),
        ] {
            assert!(check_readable(name).is_err(), "{name}");
        }
        for c in [
            '\u{3164}',
            '\u{115f}',
            '\u{ffa0}',
            '\u{ad}',
            '\u{34f}',
            '\u{200d}',
            '\u{fe0f}',
            '\u{e0041}',
            '\u{e000}',
            '\u{180e}',
            '\u{2028}',
            '\u{202e}',
            '\u{378}',
        ] {
            assert!(is_deceptive_char(c), "U+{:04X}", u32::from(c));
        }
    }

    #[test]
    fn a_name_mentions_hosts_by_url_or_alone() {
        for (name, hosts) in [
            ("https://bakery.example/login", &["bakery.example"][..]),
            ("HTTP://Bakery/", &["bakery"]),
            ("Sign in at bakery.example.", &["bakery.example"]),
            ("ｂａｋｅｒｙ。ｅｘａｍｐｌｅ", &["bakery.example"]),
            ("бакery.example", &["xn--ery-5cdzf.example"]),
            ("192.0.2.7 console", &["192.0.2.7"]),
            ("me@bakery.example", &["bakery.example"]),
            ("bakery.fr", &["bakery.fr"]),
            ("www.bakery.js", &["www.bakery.js"]),
            ("https://bakery.js", &["bakery.js"]),
            ("Node.js", &[]),
            ("The bakery on Vue.js, by node.JS", &[]),
            ("Shop 2.0", &[]),
            ("E. Leclerc", &[]),
            ("S.A.", &[]),
            ("Note: good bread", &[]),
        ] {
            let found = mentioned_hosts(name);
            let is_idn = hosts.iter().any(|host| host.starts_with("xn--"));
            if is_idn {
                assert!(found.iter().all(|host| host.starts_with("xn--")) && found.len() == 1);
            } else {
                assert_eq!(found, hosts, "{name}");
            }
        }
    }

    #[test]
    fn hosts_look_alike_by_their_letters() {
        for (host, other) in [
            ("xn--bkery-4ve.example", "bakery.example"),
            ("examp1e.org", "example.org"),
            ("corner.example", "comer.example"),
        ] {
            assert!(share_key(&host_keys(host), &host_keys(other)), "{host} and {other}");
        }
        for (host, other) in [
            ("bake-ry.example", "bakery.example"),
            ("a.bakery.example", "bakery.example"),
            ("xn--mnchen-3ya.example", "berlin.example"),
        ] {
            assert!(!share_key(&host_keys(host), &host_keys(other)), "{host} and {other}");
        }
    }
}
