//! Tests of the texts in every language.

use super::*;
use passerelle_federation::assurance::amr::METHODS;

/// Returns the keys of one language's file.
pub(super) fn keys(language: &str) -> BTreeSet<String> {
    let folder = fs::read_dir(format!("{HERE}/../../../localization/locales/{language}")).unwrap();
    let text: String =
        folder.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    let key = |line: &str| {
        Some(line.split_once(" =")?.0.to_owned())
            .filter(|key| !key.starts_with([' ', '#', '[', '*']))
    };
    text.lines().filter_map(key).collect()
}

/// Returns the sources that use keys, without tests.
fn sources() -> String {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { walk(&path, found) } else { found.push(path) }
        }
    }
    let mut found = vec![];
    walk(Path::new(HERE).parent().unwrap(), &mut found);
    let is_source = |path: &&PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        (name.ends_with(".rs") || name.ends_with(".html"))
            && name != "tests.rs"
            && !path
                .components()
                .any(|part| ["tests", "testing"].contains(&part.as_os_str().to_str().unwrap()))
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
    for locale in Languages::built_in().locales() {
        assert_eq!(keys(&locale.to_string()), expected, "{locale}");
    }
    let sources = sources();
    let mut named: BTreeSet<&str> = sources.split('"').collect();
    named.extend(ErrorCode::all().iter().map(|code| code.entry().page_text));
    // The keys of claims and of simulated failures are built from their names.
    let claims: Vec<String> =
        Claim::all().map(|claim| format!("claim-{}", claim.as_str().replace('_', "-"))).collect();
    named.extend(claims.iter().map(String::as_str));
    let failures: Vec<String> = SimulatedFailure::ALL
        .iter()
        .map(|failure| failure.as_str())
        .chain(["none"])
        .map(|id| format!("sandbox-failure-{id}"))
        .collect();
    named.extend(failures.iter().map(String::as_str));
    let methods: Vec<String> = METHODS.iter().map(|method| format!("method-{method}")).collect();
    named.extend(methods.iter().map(String::as_str));
    // The languages name themselves.
    named.insert("language-name");
    for key in &expected {
        assert!(named.contains(key.as_str()), "the text `{key}` is used nowhere");
    }
    for call in [
        "t.text(\"",
        "t.text_with(\"",
        "t.html_with(\"",
        "t.text_with_values(\"",
        "self.text_with_values(\"",
    ] {
        for key in sources.split(call).skip(1).filter_map(|rest| rest.split('"').next()) {
            assert!(expected.contains(key), "`{key}` has no text");
        }
    }
}

#[test]
fn every_error_has_a_text_in_every_language() {
    for locale in Languages::built_in().locales() {
        for code in ErrorCode::all() {
            let key = code.entry().page_text;
            assert_ne!(locale.text(key), key, "{locale} {}", code.entry().code);
            assert!(keys(&locale.to_string()).contains(key), "{locale} falls back for `{key}`");
        }
    }
}

#[test]
fn every_claim_with_a_label_has_one_in_every_language() {
    for locale in Languages::built_in().locales() {
        for claim in Claim::all().filter(|claim| consent::has_label(*claim)) {
            let label = ClaimLabel::from(claim).text(locale);
            assert!(!label.starts_with("claim-"), "{locale} {claim}");
        }
    }
}
