//! Tests attacks by a file that another team may write: which secrets it can reference.

mod variables;

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use crate::check_context::CheckContext;
use crate::tests::KINDS;
use crate::tests::{CLIENT_SECRET, Folder, SUBJECT_KEY};

const CONNECTOR: &str = "connectors/idp.toml";
const SERVICE: &str = "service-providers/sp.toml";
const BY_VARIABLE: &str = "{ env = \"CONNECTOR_IDP__SECRET\" }";

/// Returns a folder with every other secret of a hub in a file.
fn hub() -> Folder {
    Folder::good()
        .edit("passerelle.toml", "{ env = \"SUBJECT_KEY\" }", "{ file = \"subject.key\" }")
        .edit(
            "passerelle.toml",
            "private.listen",
            "private.admin_token = { env = \"ADMIN_TOKEN\" }\nprivate.listen",
        )
        .edit(
            SERVICE,
            "{ env = \"SERVICE_PROVIDER_SP__SECRET\" }",
            "{ file = \"secrets/service-providers/sp/client.secret\" }",
        )
        .variable("ADMIN_TOKEN", "an-admin-token-of-more-than-32-characters")
        .variable("PASSERELLE_HOME_COUNTRY", "99100")
        .with("subject.key", SUBJECT_KEY)
        .with("secrets/service-providers/sp/client.secret", CLIENT_SECRET)
        .with("secrets/connectors/other/client.secret", "another connector's")
        .with("secrets/connectors/idp-b/client.secret", "another connector's")
        .with("secrets/connectors/idp/client.secret", "its own")
        .with("other.secret", "another connector's")
        .with("idp.secret", "its own")
}

/// Returns the problem of the connector's reference: key, and message with fix.
#[track_caller]
fn refused(folder: Folder, reference: &str) -> (String, String) {
    let (file, key, text) = folder.edit(CONNECTOR, BY_VARIABLE, reference).problem();
    assert_eq!(file, CONNECTOR, "{reference}: {text}");
    (key, text)
}

#[test]
fn a_connector_reads_its_own_secrets() {
    for own in [
        "idp.secret",
        "./idp.secret",
        "secrets/connectors/idp/client.secret",
        "secrets/connectors/idp/deep/er",
    ] {
        let folder = hub().with("secrets/connectors/idp/deep/er", "its own");
        let loaded =
            folder.edit(CONNECTOR, BY_VARIABLE, &format!("{{ file = \"{own}\" }}")).loaded();
        assert_eq!(
            loaded.connectors["idp"].client_secret.as_ref().unwrap().reveal(),
            "its own",
            "{own}"
        );
    }
    let folder = hub();
    let absolute = folder.path().join("secrets/connectors/idp/client.secret").display().to_string();
    folder.edit(CONNECTOR, BY_VARIABLE, &format!("{{ file = \"{absolute}\" }}")).loaded();
}

#[test]
fn a_connector_that_names_the_subject_key_or_anothers_file_is_refused() {
    for file in [
        "subject.key",
        "secrets/service-providers/sp/client.secret",
        "secrets/connectors/other/client.secret",
        "secrets/connectors/idp-b/client.secret",
        "secrets/connectors/idp/../other/client.secret",
        "secrets/connectors/idp/../../../subject.key",
        "secrets/../subject.key",
        "other.secret",
        "passerelle.toml",
        "/etc/passwd",
        "secrets",
        "",
    ] {
        let (key, text) = refused(hub(), &format!("{{ file = \"{file}\" }}"));
        assert_eq!(key, "kind.oidc.client_secret.file", "{file}");
        assert!(text.contains("a file that this file may not reference"), "{file}: {text}");
        assert!(
            text.contains("secrets/connectors/idp") && text.contains("idp.secret"),
            "{file}: {text}"
        );
    }
}

#[test]
fn the_error_does_not_reveal_whether_another_file_exists() {
    let (_, there) = refused(hub(), "{ file = \"subject.key\" }");
    let (_, missing) = refused(hub(), "{ file = \"nowhere.key\" }");
    assert_eq!(there, missing);
}

#[test]
fn a_link_in_the_connectors_folder_is_not_followed_elsewhere() {
    for (link, target) in [
        ("secrets/connectors/idp/key", "../../../subject.key"),
        ("secrets/connectors/idp/key", "../other/client.secret"),
        ("secrets/connectors/idp/key", "../other"),
        ("idp.secret", "subject.key"),
        ("idp.secret", "other.secret"),
        ("idp.secret", "secrets/service-providers/sp/client.secret"),
    ] {
        let folder = hub();
        let path = folder.path().join(link);
        let _absent = fs::remove_file(&path);
        symlink(target, &path).unwrap();
        let (_, text) = refused(folder, &format!("{{ file = \"{link}\" }}"));
        assert!(
            text.contains("a file that this file may not reference"),
            "{link} -> {target}: {text}"
        );
    }
    // A link to the whole folder of another file.
    let folder = hub();
    fs::remove_dir_all(folder.path().join("secrets/connectors/idp")).unwrap();
    symlink("other", folder.path().join("secrets/connectors/idp")).unwrap();
    let (_, text) = refused(folder, "{ file = \"secrets/connectors/idp/client.secret\" }");
    assert!(text.contains("a file that this file may not reference"), "{text}");
}

#[test]
fn a_second_name_of_the_subject_key_is_refused() {
    let folder = hub();
    fs::hard_link(
        folder.path().join("subject.key"),
        folder.path().join("secrets/connectors/idp/key"),
    )
    .unwrap();
    let (_, text) = refused(folder, "{ file = \"secrets/connectors/idp/key\" }");
    assert!(text.contains("only passerelle.toml may reference"), "{text}");
}

#[test]
fn a_second_name_of_a_file_in_the_folders_of_keys_and_state_is_refused() {
    let named = || {
        hub().edit(
            "passerelle.toml",
            "private.listen",
            "keys = \"ring\"\nstate = \"kept\"\nprivate.listen",
        )
    };
    for (folder, file) in [
        (hub(), "keys/1.pem"),
        (hub(), "state/store"),
        (named(), "ring/1.pem"),
        (named(), "kept/store"),
    ] {
        let folder = folder.with(file, "the hub's own");
        fs::hard_link(folder.path().join(file), folder.path().join("secrets/connectors/idp/key"))
            .unwrap();
        let (_, text) = refused(folder, "{ file = \"secrets/connectors/idp/key\" }");
        assert!(text.contains("only passerelle.toml may reference"), "{file}: {text}");
    }
}

#[test]
fn a_hard_link_that_no_setting_leads_to_is_allowed() {
    let folder = hub().with("keys/1.pem", "the hub's own").with("state/store", "the hub's own");
    fs::hard_link(folder.path().join("idp.secret"), folder.path().join("backup of it")).unwrap();
    folder
        .edit(CONNECTOR, BY_VARIABLE, "{ file = \"idp.secret\" }")
        .edit("passerelle.toml", "private.listen", "state = \".\"\nprivate.listen")
        .loaded();
}

#[test]
fn a_connector_named_after_a_secret_of_the_settings_does_not_get_it() {
    let folder =
        hub().edit("passerelle.toml", "subject.key", "idp.secret").with("idp.secret", SUBJECT_KEY);
    let (_, text) = refused(folder, "{ file = \"idp.secret\" }");
    assert!(text.contains("only passerelle.toml may reference"), "{text}");
    assert!(!text.contains(SUBJECT_KEY), "{text}");
}

/// Kubernetes mounts secrets as links into a folder that is replaced as a whole.
#[test]
fn links_of_a_mount_are_followed() {
    let mounted = |folder: Folder, parent: &str, name: &str| {
        let path = folder.path().join(parent);
        let _absent = fs::remove_file(path.join(name));
        symlink("..2026_11_22", path.join("..data")).unwrap();
        symlink(format!("..data/{name}"), path.join(name)).unwrap();
        folder
    };
    let own = hub().with("secrets/connectors/idp/..2026_11_22/client.secret", "mounted");
    let own = mounted(own, "secrets/connectors/idp", "client.secret");
    let single = mounted(hub().with("..2026_11_22/idp.secret", "mounted"), "", "idp.secret");
    for (folder, file) in [(own, "secrets/connectors/idp/client.secret"), (single, "idp.secret")] {
        let loaded =
            folder.edit(CONNECTOR, BY_VARIABLE, &format!("{{ file = \"{file}\" }}")).loaded();
        assert_eq!(loaded.connectors["idp"].client_secret.as_ref().unwrap().reveal(), "mounted");
    }
    // The folder of all secrets may be a link too.
    let folder = hub();
    fs::rename(folder.path().join("secrets"), folder.path().join("elsewhere")).unwrap();
    symlink("elsewhere", folder.path().join("secrets")).unwrap();
    folder
        .edit(CONNECTOR, BY_VARIABLE, "{ file = \"secrets/connectors/idp/client.secret\" }")
        .loaded();
}

#[test]
fn service_providers_and_data_providers_are_confined_too() {
    for reference in [
        "{ file = \"subject.key\" }",
        "{ env = \"ADMIN_TOKEN\" }",
        "{ file = \"secrets/connectors/idp/client.secret\" }",
    ] {
        let folder = hub().edit(
            SERVICE,
            "{ file = \"secrets/service-providers/sp/client.secret\" }",
            reference,
        );
        let (file, _, text) = folder.problem();
        assert!(
            file == SERVICE
                && (text.contains("service-providers/sp")
                    || text.contains("SERVICE_PROVIDER_SP__")),
            "{text}"
        );
        let data = format!(
            "client_id = \"d\"\nname = {{ en = \"D\" }}\nscopes = [\"openid\", \"profile\"]\nsecrets = [{reference}]\n"
        );
        let (file, _, text) = hub().with("data-providers/archive.toml", data).problem();
        assert!(
            file.ends_with("archive.toml")
                && (text.contains("data-providers/archive") || text.contains("DATA_PROVIDER_")),
            "{text}"
        );
    }
}

#[test]
fn a_connector_named_as_a_service_provider_does_not_get_its_secret() {
    let connector = |folder: Folder| {
        let text = fs::read_to_string(folder.path().join(CONNECTOR)).unwrap();
        folder.with("connectors/sp.toml", text.replace(BY_VARIABLE, "{ file = \"sp.secret\" }"))
    };
    let folder = hub()
        .edit(SERVICE, "secrets/service-providers/sp/client.secret", "sp.secret")
        .with("sp.secret", CLIENT_SECRET);
    folder.loaded();
    let folder = connector(folder);
    let (file, key, text) = folder.problem();
    assert_eq!(
        (file.as_str(), key.as_str()),
        ("connectors/sp.toml", "kind.oidc.client_secret.file")
    );
    assert!(
        text.contains("references the secret of") && text.contains("service-providers/sp.toml"),
        "{text}"
    );
    let environment = folder.environment();
    let around = CheckContext::from_folder(folder.path(), &environment, KINDS).unwrap();
    let draft = around.check_connector(&folder.path().join("connectors/sp.toml"), &environment);
    assert!(
        draft.problems.iter().any(|problem| problem.message.contains("references the secret of")),
        "{:?}",
        draft.problems
    );
    // The file is available to the connector if the service provider's secret is elsewhere.
    connector(hub().with("sp.secret", "the connector's")).loaded();
}

#[test]
fn the_places_of_secrets_are_settings() {
    let folder = hub()
        .edit(
            "passerelle.toml",
            "identity_source",
            "secrets = { folder = \"private/own\", environment_prefix = \"LOGIN_\" }\nidentity_source",
        )
        .edit(SERVICE, "secrets/service-providers/sp/client.secret", "sp.secret")
        .with("sp.secret", CLIENT_SECRET)
        .with("private/own/connectors/idp/a", "its own");
    let (_, key, text) = folder.problem();
    assert!(key.ends_with(".env") && text.contains("LOGIN_CONNECTOR_IDP__"), "{key}: {text}");
    let folder = folder.edit(CONNECTOR, BY_VARIABLE, "{ file = \"private/own/connectors/idp/a\" }");
    folder.loaded();
    let (_, _, text) = folder.edit(CONNECTOR, "private/own", "secrets").problem();
    assert!(text.contains("private/own/connectors/idp"), "{text}");
    for (wrong, words) in
        [("PASSERELLE_", "another"), ("login", "capital letters"), ("1A", "starting with a letter")]
    {
        let table = format!("secrets.environment_prefix = \"{wrong}\"\nidentity_source");
        let (_, key, text) = Folder::good()
            .edit("passerelle.toml", "identity_source", &table)
            .problem_at("secrets.environment_prefix");
        assert!(text.contains(words), "{key}: {text}");
    }
}

#[test]
fn a_secret_file_with_a_mode_wider_than_0600_is_named() {
    let folder =
        hub().edit(CONNECTOR, BY_VARIABLE, "{ file = \"idp.secret\" }").with("sp.jwks", "{}");
    let set = |file: &str, mode: u32| {
        fs::set_permissions(folder.path().join(file), fs::Permissions::from_mode(mode)).unwrap()
    };
    let all = ["subject.key", "idp.secret", "secrets/service-providers/sp/client.secret"];
    let exposed = || {
        folder
            .loaded()
            .exposed_secrets
            .iter()
            .map(|problem| problem.key.clone())
            .collect::<Vec<_>>()
    };
    for file in all.iter() {
        set(file, 0o644);
    }
    assert_eq!(exposed().len(), 3);
    let text = config_report(&folder);
    assert!(
        text.contains("\n3 problems:") && text.contains("chmod 600") && !text.contains("is valid"),
        "{text}"
    );
    for file in all.iter() {
        set(file, 0o600);
    }
    assert_eq!(exposed(), [""; 0]);
    for mode in [0o640, 0o440, 0o620, 0o604, 0o602, 0o601, 0o700] {
        set("idp.secret", mode);
        assert_eq!(exposed(), ["kind.oidc.client_secret.file"], "{mode:o}");
    }
    set("idp.secret", 0o400);
    assert_eq!(exposed(), [""; 0]);
}

#[test]
fn a_service_provider_that_names_another_file_does_not_learn_its_mode() {
    let folder = hub().edit(SERVICE, "secrets/service-providers/sp/client.secret", "idp.secret");
    let environment = folder.environment();
    let context = CheckContext::from_folder(folder.path(), &environment, KINDS).unwrap();
    let problems = |mode: u32| {
        let permissions = fs::Permissions::from_mode(mode);
        fs::set_permissions(folder.path().join("idp.secret"), permissions).unwrap();
        let path = folder.path().join(SERVICE);
        let now = passerelle_protocol::env::Timestamp::default();
        context.check_service_provider(&path, &environment, now).problems
    };
    assert!(!problems(0o600).is_empty());
    assert_eq!(format!("{:?}", problems(0o600)), format!("{:?}", problems(0o644)));
}

fn config_report(folder: &Folder) -> String {
    crate::render_check_output(&Ok(folder.loaded()), passerelle_protocol::env::Timestamp::default())
}
