//! Tests of secrets and environment variables.

use super::*;

#[test]
fn secret_value_never_appears_in_an_error() {
    const VALUE: &str = "s3cr3t-Value-7777777";
    let text = |value: &str| format!("\"{value}\"");
    let mut folders = vec![
        Folder::good().variable("PASSERELLE_SUBJECT_KEY", VALUE),
        Folder::good().variable("PASSERELLE_SUBJECT_KEYY", VALUE),
        Folder::good().variable("PASSERELLE_PLATFORM", VALUE),
        Folder::good().variable("PASSERELLE_PUBLIC__LISTEN", VALUE),
        Folder::good().variable("PASSERELLE_LIMITS__WORKERS", VALUE),
        Folder::good()
            .variable("PASSERELLE_BASE_URL", &format!("https://me:{VALUE}@sp.example.org/x")),
        Folder::good().variable("SUBJECT_KEY", VALUE),
        Folder::good().variable("SERVICE_PROVIDER_SP__SECRET", VALUE),
        Folder::good().edit(
            "passerelle.toml",
            "platform =",
            &format!("subject_key = {VALUE}\nplatform ="),
        ),
        Folder::good().edit(
            "passerelle.toml",
            "platform =",
            &format!("subject_key = \"{VALUE}\nplatform ="),
        ),
        Folder::good().edit("passerelle.toml", "SUBJECT_KEY", VALUE),
        Folder::good().edit("service-providers/sp.toml", "SERVICE_PROVIDER_SP__SECRET", VALUE),
        Folder::good().edit(
            "service-providers/sp.toml",
            "env = \"SERVICE_PROVIDER_SP__SECRET\"",
            &format!("sha256 = \"{VALUE}\""),
        ),
        Folder::good().edit(
            "service-providers/sp.toml",
            "env = \"SERVICE_PROVIDER_SP__SECRET\"",
            &format!("file = \"{VALUE}\""),
        ),
        Folder::good().edit(
            "service-providers/sp.toml",
            "https://sp.",
            &format!("https://me:{VALUE}@sp."),
        ),
        Folder::good().edit(
            "connectors/idp.toml",
            "{ env = \"CONNECTOR_IDP__SECRET\" }",
            &text(VALUE),
        ),
        Folder::good().edit(
            "connectors/idp.toml",
            "{ env = \"CONNECTOR_IDP__SECRET\" }",
            "7777777",
        ),
        Folder::good().edit(
            "connectors/idp.toml",
            "https://idp.",
            &format!("https://me:{VALUE}@idp."),
        ),
        Folder::good().edit(
            "connectors/idp.toml",
            "[acr]",
            &format!("assumed_level = \"{VALUE}\"\n[acr]"),
        ),
        Folder::good().edit("connectors/idp.toml", "\"hub\"", &format!("[\"{VALUE}\"]")),
    ];
    for from in [
        "\"standard\"",
        "{ env = \"SUBJECT_KEY\" }",
        "\"127.0.0.1:8080\"",
        "\"provider\"",
        "\"connectors\"",
    ] {
        folders.push(Folder::good().edit("passerelle.toml", from, &text(VALUE)));
        folders.push(Folder::good().edit("passerelle.toml", from, "7777777"));
    }
    for (index, folder) in folders.iter().enumerate() {
        let result = folder.load();
        assert!(result.is_err(), "folder {index} must be refused");
        // The name of a missing folder is the one value that a message contains.
        let problems: Vec<Diagnostic> = result
            .as_ref()
            .unwrap_err()
            .iter()
            .filter(|p| !p.message.starts_with("the folder"))
            .cloned()
            .collect();
        let seen = format!(
            "{}{problems:?}",
            render_check_output(
                &Err(problems.clone()),
                passerelle_protocol::env::Timestamp::default()
            )
        );
        assert!(!seen.contains("7777777"), "folder {index}: {seen}");
    }
    let loaded = Folder::good().loaded();
    let seen = format!("{loaded:?}");
    assert!(
        !seen.contains(CLIENT_SECRET)
            && !seen.contains(SUBJECT_KEY)
            && !seen.contains("idp-secret")
    );
}

#[test]
fn variables_win_over_the_file_and_are_typed() {
    let loaded = Folder::good()
        .variable("PASSERELLE_PUBLIC__LISTEN", "127.0.0.1:7000")
        .variable("PASSERELLE_LIMITS__WORKERS", "3")
        .variable("PASSERELLE_CHOICE__HIDE_UNAVAILABLE", "true")
        .variable("PASSERELLE_CHOICE__ORDER", "idp, b")
        .variable("PASSERELLE_LIFETIMES__LOGIN_SECONDS", "900")
        // Looks like a number but is a text: a parser that guesses would reject it.
        .variable("PASSERELLE_HOME_COUNTRY", "01234")
        .variable("PASSERELLE_COOKIE_PREFIX", "true")
        .loaded();
    assert_eq!(loaded.settings.public.listen.port(), 7000);
    assert_eq!(loaded.settings.limits.workers, 3);
    assert!(loaded.settings.choice.hide_unavailable);
    assert_eq!(loaded.settings.choice.order.len(), 2);
    assert_eq!(loaded.settings.lifetimes.login_seconds, Some(900));
    assert_eq!(
        (loaded.settings.home_country.as_str(), loaded.settings.cookie_prefix.as_str()),
        ("01234", "true")
    );
}

#[test]
fn a_bad_variable_is_named_in_full() {
    let rows = [
        ("PASSERELLE_HTTP__PROT", "1", "is not a setting"),
        (
            "PASSERELLE_PUBLIC__PROT",
            "1",
            "known here: CLIENT_ADDRESS_HEADER, CLIENT_CERTIFICATES, HSTS_INCLUDE_SUBDOMAINS, LISTEN, MAX_CONNECTIONS",
        ),
        ("PASSERELLE_PUBLIC", "1", "one by one"),
        ("PASSERELLE_LIMITS__WORKERS", "many", "must be a whole number"),
        ("PASSERELLE_LIMITS__WORKERS", "2000", "from 0 to 1024"),
        ("PASSERELLE_SANDBOX", "yes", "must be true or false"),
        ("PASSERELLE_PLATFORM", "huge", "write one of: standard, high"),
        ("PASSERELLE_BASE_URL", "http://login.example.org", "use https://"),
    ];
    for (name, value, words) in rows {
        let (file, key, text) = Folder::good().variable(name, value).problem();
        assert_eq!((file.as_str(), key.as_str()), ("environment", name));
        assert!(text.contains(words), "{name}: {text}");
    }
}

#[test]
fn a_secrets_variable_may_have_the_hubs_prefix() {
    let folder = Folder::good().variable("PASSERELLE_SUBJECT_KEY", SUBJECT_KEY);
    folder.edit("passerelle.toml", "\"SUBJECT_KEY\"", "\"PASSERELLE_SUBJECT_KEY\"").loaded();
}

#[test]
fn secrets_come_from_files_too_and_two_may_be_valid() {
    let hash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    let both = format!("{{ file = \"sp.secret\" }}, {{ sha256 = \"{hash}\" }}");
    let loaded = Folder::good()
        .with("sp.secret", format!("{CLIENT_SECRET}\r\n"))
        .edit("service-providers/sp.toml", "{ env = \"SERVICE_PROVIDER_SP__SECRET\" }", &both)
        .loaded();
    let expected = [
        passerelle_protocol::digest::sha256(CLIENT_SECRET.as_bytes()),
        passerelle_protocol::digest::sha256(b"test"),
    ];
    let service = &loaded.service_providers.get("sp").unwrap().service_provider;
    let secrets = service.authentication.secrets();
    assert_eq!(secrets.iter().map(|secret| secret.sha256).collect::<Vec<_>>(), expected);
}
