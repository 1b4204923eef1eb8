//! Tests of the warnings about settings that only a trial may have.

use super::*;

/// Returns the keys of the warnings.
fn load_warnings(folder: &Folder) -> Vec<String> {
    folder.loaded().warnings.into_iter().map(|warning| warning.key).collect()
}

/// Returns the good folder, at `https://login.example.org`, with lines before and after those of
/// its settings.
fn with_settings(first: &str, last: &str) -> Folder {
    let settings = fs::read_to_string(Folder::good().path().join("passerelle.toml")).unwrap();
    Folder::good().with("passerelle.toml", format!("{first}\n{settings}\n{last}\n"))
}

#[test]
fn a_good_folder_has_no_insecure_settings() {
    for key in load_warnings(&Folder::good()) {
        assert!(!key.contains("sandbox") && !key.contains("insecure"), "{key}");
    }
}

#[test]
fn a_sandbox_that_is_left_on_a_public_hub_is_a_warning() {
    for (settings, key) in [
        ("sandbox = true\nsandbox_public = true", "sandbox"),
        ("sandbox_public = true", "sandbox_public"),
    ] {
        let keys = load_warnings(&with_settings(settings, ""));
        assert!(keys.iter().any(|warned| warned == key), "{settings}: {keys:?}");
    }
}

#[test]
fn insecure_http_that_is_left_in_a_client_is_a_warning() {
    let service = Folder::good().edit(
        "service-providers/sp.toml",
        "client_id",
        "insecure_http = true\nclient_id",
    );
    assert!(load_warnings(&service).contains(&"insecure_http".to_owned()));
    let archive = "client_id = \"archive\"\nname = { en = \"Archive\" }\nscopes = [\"openid\", \"birthdate\"]\n\
        insecure_http = true\nsecrets = [{ env = \"DATA_PROVIDER_ARCHIVE__SECRET\" }]\n";
    let data = Folder::good().with("data-providers/archive.toml", archive);
    assert!(load_warnings(&data).contains(&"insecure_http".to_owned()));
    let connector =
        Folder::good().edit("connectors/idp.toml", "client_id", "insecure_http = true\nclient_id");
    assert!(load_warnings(&connector).contains(&"kind.oidc.insecure_http".to_owned()));
}

#[test]
fn insecure_http_that_is_left_for_the_register_is_a_warning_unless_it_is_on_this_machine() {
    for (host, is_warned) in [("register.example.org", true), ("localhost:8443", false)] {
        let table = format!("[register.http]\nurl = \"http://{host}/v1\"\ninsecure_http = true");
        let keys = load_warnings(&with_settings("", &table));
        let key = "register.http.insecure_http".to_owned();
        assert_eq!(keys.contains(&key), is_warned, "{host}: {keys:?}");
    }
}

#[cfg(feature = "otlp")]
#[test]
fn insecure_http_that_is_left_for_traces_is_a_warning_unless_the_collector_is_on_this_machine() {
    for (host, is_warned) in [("collector.example.org", true), ("127.0.0.1", false)] {
        let table =
            format!("[traces]\nendpoint = \"http://{host}:4318/v1/traces\"\ninsecure_http = true");
        let keys = load_warnings(&with_settings("", &table));
        assert_eq!(
            keys.contains(&"traces.insecure_http".to_owned()),
            is_warned,
            "{host}: {keys:?}"
        );
    }
}

#[test]
fn a_sandbox_that_other_machines_reach_is_refused_unless_the_file_says_so() {
    let sandbox_at = |listen: &str, more: &str| {
        Folder::good()
            .edit("passerelle.toml", "https://login.example.org", "http://localhost:8080")
            .edit("passerelle.toml", "127.0.0.1:8080", listen)
            .edit(
                "passerelle.toml",
                "identity_source",
                &format!("sandbox = true\n{more}\nidentity_source"),
            )
    };
    for listen in ["0.0.0.0:8080", "[::]:8080", "10.0.0.1:8080", "[::ffff:10.0.0.1]:8080"] {
        let problems = sandbox_at(listen, "").load().unwrap_err();
        let found = problems.iter().find(|problem| problem.key == "sandbox");
        let found = found.unwrap_or_else(|| panic!("{listen}: {problems:?}")).to_string();
        assert!(found.contains("other machines reach public.listen"), "{found}");
        assert!(found.contains("sandbox_public = true"), "{found}");
        assert!(sandbox_at(listen, "sandbox_public = true").load().is_ok(), "{listen}");
    }
    for listen in ["127.0.0.1:8080", "127.1.2.3:8080", "[::1]:8080", "[::ffff:127.0.0.1]:8080"] {
        assert!(sandbox_at(listen, "").load().is_ok(), "{listen}");
    }
}

#[test]
fn a_private_listener_that_other_machines_reach_without_tls_is_a_warning() {
    let listening = |listen: &str| {
        Folder::good().edit("passerelle.toml", "127.0.0.1:9090", listen).edit(
            "passerelle.toml",
            "identity_source",
            "private.insecure_http = true\nidentity_source",
        )
    };
    let key = "private.insecure_http".to_owned();
    assert!(load_warnings(&listening("10.0.0.1:9090")).contains(&key));
    assert!(!load_warnings(&listening("127.0.0.1:9090")).contains(&key));
}
