//! Tests of the versions of the subject key.

use super::*;

const TWO_KEYS: &str = "subject_keys = [{ version = 1, env = \"SUBJECT_KEY\" }, { version = 2, env = \"SECOND_KEY\" }]";

fn with_two_keys() -> Folder {
    Folder::good().edit("passerelle.toml", "subject_key = { env = \"SUBJECT_KEY\" }", TWO_KEYS)
}

// R037
#[test]
fn a_service_provider_keeps_the_key_version_that_it_knows() {
    let other =
        SERVICE.replace("client_id = \"sp\"", "client_id = \"other\"\nsubject_key_version = 1");
    let loaded = with_two_keys().with("service-providers/other.toml", other).loaded();
    assert_eq!(loaded.subject_keys.keys().collect::<Vec<_>>(), [&1, &2]);
    let version =
        |id: &str| loaded.service_providers.get(id).unwrap().service_provider.subject_key_version;
    assert_eq!(
        (version("sp"), version("other")),
        (2, 1),
        "the newest, unless the file says otherwise"
    );
    assert_eq!(
        Folder::good()
            .loaded()
            .service_providers
            .get("sp")
            .unwrap()
            .service_provider
            .subject_key_version,
        1
    );
}

#[test]
fn each_bad_key_version_is_named_with_its_fix() {
    for (from, to, key, words) in [
        ("version = 2", "version = 1", "subject_keys[1].version", "its own version"),
        ("version = 1", "version = 0", "subject_keys[0].version", "start versions at 1"),
        ("SECOND_KEY", "SUBJECT_KEY", "subject_keys[1]", "the same key as another"),
        ("SECOND_KEY", "SHORT", "subject_keys[1]", "at least 32 random bytes"),
        ("SECOND_KEY", "UNSET_KEY", "subject_keys[1].env", "not set"),
        (
            "version = 2, env = \"SECOND_KEY\"",
            "version = 2",
            "subject_keys[1]",
            "references no secret",
        ),
        (
            "version = 2,",
            "version = 2, derivation = 3,",
            "subject_keys[1].derivation",
            "not a version of the derivation",
        ),
        (
            "version = 1,",
            "version = 1, derivation = 1,",
            "subject_keys[0].derivation",
            "not a version of the derivation",
        ),
        (
            "subject_keys",
            "subject_key = { env = \"SUBJECT_KEY\" }\nsubject_keys",
            "subject_key",
            "move it to subject_keys",
        ),
        (TWO_KEYS, "", "subject_key", "is missing"),
        (TWO_KEYS, "subject_keys = []", "subject_key", "is missing"),
    ] {
        let (file, found, text) = with_two_keys().edit("passerelle.toml", from, to).problem();
        assert_eq!((file.as_str(), found.as_str()), ("passerelle.toml", key), "{to}: {text}");
        assert!(text.contains(words), "{to}: {text}");
    }
    let unknown = with_two_keys().edit(
        "service-providers/sp.toml",
        "client_id",
        "subject_key_version = 3\nclient_id",
    );
    let (file, key, text) = unknown.problem();
    assert_eq!((file.as_str(), key.as_str()), ("service-providers/sp.toml", "subject_key_version"));
    assert!(text.contains("one of: 1, 2"), "{text}");
}

#[test]
fn the_derivation_of_a_subject_key_may_be_written_or_not() {
    for derivation in ["", ", derivation = 2"] {
        let written = format!("{{ env = \"SUBJECT_KEY\"{derivation} }}");
        Folder::good().edit("passerelle.toml", "{ env = \"SUBJECT_KEY\" }", &written).loaded();
    }
}

#[test]
fn one_sector_has_one_key_version() {
    let other = SERVICE.replace(
        "client_id = \"sp\"",
        "client_id = \"zz\"\nsector = \"tax\"\nsubject_key_version = 1",
    );
    let folder = with_two_keys().edit(
        "service-providers/sp.toml",
        "client_id",
        "sector = \"tax\"\nclient_id",
    );
    let folder = folder.with("service-providers/zz.toml", other);
    let (file, key, text) = folder.problem();
    assert_eq!((file.as_str(), key.as_str()), ("service-providers/zz.toml", "subject_key_version"));
    assert!(text.contains("sp.toml") && text.contains("two sub"), "{text}");
    folder
        .edit("service-providers/sp.toml", "client_id", "subject_key_version = 1\nclient_id")
        .loaded();
}
