//! Tests level names: invalid declarations and lists.

use std::fs;

use crate::tests::Folder;

const SETTINGS: &str = "passerelle.toml";
const SERVICE: &str = "service-providers/sp.toml";
const CONNECTOR: &str = "connectors/idp.toml";
const LAST: &str = "identity_source = \"provider\"\n";
const MFA: &str = "[level_names.\"eidas1-mfa\"]\nlevel = \"eidas1\"\nmulti_factor = true\n";
const REFEDS: &str =
    "[level_names.\"https://refeds.org/profile/mfa\"]\nlevel = \"eidas1\"\nmulti_factor = true\n";

fn with_names(names: &str) -> Folder {
    Folder::good().edit(SETTINGS, LAST, &format!("{LAST}{names}\n"))
}

fn with_lines(file: &'static str, at: &str, lines: &str) -> Folder {
    with_names(&format!("{MFA}{REFEDS}")).edit(file, at, &format!("{lines}\n{at}"))
}

#[test]
fn a_bad_level_name_is_refused_with_its_line_and_fix() {
    for (names, key, words) in [
        ("[level_names.eidas2]\nlevel = \"eidas1\"", "level_names.eidas2", "choose another name"),
        ("[level_names.\"a b\"]\nlevel = \"eidas1\"", "level_names.a b", "without spaces"),
        ("[level_names.mfa]\nlevel = \"eidas2\"", "level_names.mfa.level", "write one of: eidas1"),
        (
            "[level_names.\"https://refeds.org/profile/mfa\"]\nlevel = \"eidas3\"",
            "level_names.https://refeds.org/profile/mfa.level",
            "write one of: eidas1",
        ),
        ("[level_names.mfa]\nlevel = \"high\"", "level_names.mfa.level", "eidas1, eidas2, eidas3"),
        (
            "[level_names.mfa]\nlevel = \"eidas1\"\nmfa = true",
            "level_names.mfa.mfa",
            "use one of: level, multi_factor, mail",
        ),
    ] {
        let folder = with_names(names);
        let (file, _, text) = folder.problem_at(key);
        assert_eq!(file, SETTINGS, "{key}");
        assert!(text.contains(words), "{key}: {text}");
        let problems = folder.load().map(|_| ()).unwrap_err();
        assert!(problems.iter().all(|problem| problem.line.is_some()), "{problems:?}");
    }
}

#[test]
fn a_level_name_declared_twice_is_refused() {
    let folder = with_names(&format!("{MFA}{MFA}"));
    let (file, _, text) = folder.problem();
    assert_eq!(file, SETTINGS);
    assert!(text.contains("correct the line: duplicate key"), "{text}");
    let settings = fs::read_to_string(folder.path().join(SETTINGS)).unwrap();
    let second =
        settings.lines().enumerate().filter(|(_, line)| line.contains("eidas1-mfa")).nth(1);
    let problems = folder.load().map(|_| ()).unwrap_err();
    assert_eq!(problems[0].line, second.map(|(index, _)| index + 1));
}

#[test]
fn a_service_provider_lists_declared_names_once() {
    for (line, key, words) in [
        ("level_names = [\"gold\"]", "level_names[0]", "[level_names.\"gold\"] in passerelle.toml"),
        ("level_names = [\"eidas1-mfa\", \"eidas1-mfa\"]", "level_names[1]", "keep one"),
        (
            "default_acr_values = [\"eidas1-mfa\"]",
            "default_acr_values[0]",
            "write one of: eidas1; or add it to level_names",
        ),
        ("default_acr_values = [\"eidas2\"]", "default_acr_values[0]", "level of the platform"),
    ] {
        let folder = with_lines(SERVICE, "client_id", line);
        // Nothing stands above the first line but an empty one.
        assert_eq!(folder.load().map(|_| ()).unwrap_err()[0].line, Some(2), "{line}");
        let (file, found, text) = folder.problem();
        assert_eq!((file.as_str(), found.as_str()), (SERVICE, key), "{text}");
        assert!(text.contains(words), "{line}: {text}");
    }
    let lines = "level_names = [\"eidas1-mfa\"]\ndefault_acr_values = [\"eidas1-mfa\", \"eidas1\"]";
    let loaded = with_lines(SERVICE, "client_id", lines).loaded();
    let acr = &loaded.service_providers.get("sp").unwrap().service_provider.registration.acr;
    assert_eq!((acr.level_names.len(), acr.default_values.len()), (1, 2));
    assert!(acr.level_names[0].multi_factor);
}

#[test]
fn a_connectors_value_for_a_name_must_prove_its_level_too() {
    let names = |names: &str| format!("names = {{ {names} }}");
    for (line, key, words) in [
        (names("gold = [\"low\"]"), "acr.names.gold", "[level_names.\"gold\"]"),
        (
            names("eidas1-mfa = [\"strong\"]"),
            "acr.names.eidas1-mfa",
            "list each value under eidas1",
        ),
        (names("eidas1-mfa = []"), "acr.names.eidas1-mfa", "also prove its level"),
    ] {
        let (file, found, text) = with_lines(CONNECTOR, "eidas1 = [\"low\"]", &line).problem();
        assert_eq!((file.as_str(), found.as_str()), (CONNECTOR, key), "{text}");
        assert!(text.contains(words), "{line}: {text}");
    }
    let line = names("eidas1-mfa = [\"substantial\"]");
    with_lines(CONNECTOR, "eidas1 = [\"low\"]", &line).loaded();
}
