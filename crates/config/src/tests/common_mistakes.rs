//! Tests of what people write who know other products or other syntaxes: each is named with what to
//! type instead.

use super::*;

#[test]
fn a_key_in_the_wrong_table_is_named_with_its_place() {
    let settings = "passerelle.toml";
    let connector = "connectors/idp.toml";
    let last = "identity_source = \"provider\"\n";
    let secret = "client_secret = { env = \"CONNECTOR_IDP__SECRET\" }\n";
    for (file, from, to, key, words) in [
        (
            settings,
            last,
            "identity_source = \"provider\"\n[limits]\nsandbox = true\n",
            "limits.sandbox",
            "is below [limits], so that TOML takes it for a key of that table. move the line above the first [table] of the file",
        ),
        (
            connector,
            secret,
            "client_secret = { env = \"CONNECTOR_IDP__SECRET\" }\ncategory = \"banks\"\n",
            "kind.oidc.category",
            "move the line above the first [table] of the file",
        ),
        (
            settings,
            last,
            "identity_source = \"provider\"\n[choice.no_account]\ntext = { en = \"None\" }\nask_email = true\n",
            "choice.no_account.ask_email",
            "move the line below [choice]",
        ),
        (
            settings,
            last,
            "identity_source = \"provider\"\nlogin_seconds = 600\n",
            "login_seconds",
            "is a key of the table [lifetimes]. move the line below [lifetimes]",
        ),
        // In an inline table, and after a dot, the line is in the right place.
        (
            connector,
            "highest = \"eidas2\"",
            "highest = \"eidas2\", category = \"banks\"",
            "levels.category",
            "remove it, or use one of: lowest, highest",
        ),
    ] {
        let (_, found, text) = Folder::good().edit(file, from, to).problem();
        assert_eq!(found, key, "{text}");
        assert!(text.contains(words), "{key}: {text}");
    }
}

#[test]
fn another_syntax_is_named() {
    let yaml = "is YAML, not TOML. write key = \"value\" instead of key: value";
    let json = "is JSON, not TOML. remove the outer braces";
    for (content, words) in [
        ("# An identity provider.\n\nname: Bank\n", yaml),
        ("---\nlevels:\n  lowest: eidas1\n", yaml),
        ("{\"name\": {\"en\": \"Bank\"}}", json),
        ("{\n  \"identity\": \"verified\"\n}\n", json),
        ("name = { en = \"Bank\"\nidentity: verified\n", "is not valid TOML at this line"),
    ] {
        let (file, _, text) = Folder::good().with("connectors/bank.toml", content).problem();
        assert_eq!(file, "connectors/bank.toml");
        assert!(text.contains(words), "{content}: {text}");
    }
}

#[test]
fn a_variable_with_one_underscore_is_named_as_it_should_be() {
    for (variable, fix) in [
        ("PASSERELLE_PUBLIC_LISTEN", "write PASSERELLE_PUBLIC__LISTEN"),
        ("PASSERELLE_STORE_MEMORY_SNAPSHOT", "write PASSERELLE_STORE__MEMORY__SNAPSHOT"),
        ("PASSERELLE_BASE__URL", "write PASSERELLE_BASE_URL"),
        ("PASSERELLE_PUBLIC__LISTN", "did you mean PASSERELLE_PUBLIC__LISTEN? If not, unset it"),
        ("PASSERELLE_QUITE_DIFFERENT", "unset the variable"),
    ] {
        let (_, key, text) = Folder::good().variable(variable, "127.0.0.1:1").problem();
        assert_eq!((key.as_str(), text.as_str()), (variable, &*format!("is not a setting. {fix}")));
    }
}

#[test]
fn the_address_of_a_discovery_document_is_no_issuer() {
    for document in ["openid-configuration", "oauth-authorization-server"] {
        let issuer = format!("https://idp.example.org/realms/one/.well-known/{document}");
        let folder = Folder::good().edit("connectors/idp.toml", "https://idp.example.org", &issuer);
        let (_, key, text) = folder.problem();
        assert_eq!(key, "kind.oidc.issuer");
        let fix = format!("remove /.well-known/{document} from its end");
        assert!(text.contains("discovery document") && text.contains(&fix), "{text}");
    }
}

#[track_caller]
fn warning(folder: &Folder, key: &str) -> Option<String> {
    let loaded = folder.loaded();
    let warning = loaded.warnings.iter().find(|warning| warning.key == key)?;
    Some(format!("{}. {}", warning.message, warning.fix))
}

#[test]
fn a_level_that_the_platform_never_requests_is_warned_about() {
    let unmapped = |levels: &str| {
        let folder =
            Folder::good().edit("connectors/idp.toml", "eidas2 = [\"substantial\"]", "").edit(
                "passerelle.toml",
                "platform =",
                "sandbox = true\nsandbox_public = true\nplatform =",
            );
        let kind = "[kind.persona]\n";
        let file = format!(
            "name = {{ en = \"S\" }}\nidentity = \"verified\"\nlevels = {{ {levels} }}\n{kind}"
        );
        folder
            .edit("connectors/idp.toml", "highest = \"eidas2\"", "highest = \"eidas1\"")
            .with("connectors/sandbox.toml", file)
    };
    let folder = unmapped("lowest = \"eidas1\", highest = \"eidas2\"");
    let text = warning(&folder, "levels.highest").unwrap();
    assert!(text.contains("is above eidas1") && text.ends_with("write highest = \"eidas1\""));
    let folder = unmapped("lowest = \"eidas1\", highest = \"eidas1\"");
    assert_eq!(warning(&folder, "levels.highest"), None);
    // An identity provider may answer a request for eidas1 with the value of a higher level.
    assert_eq!(warning(&Folder::good(), "levels.highest"), None);
}

#[test]
fn a_login_too_short_for_a_person_is_warned_about() {
    let with = |seconds: u32| {
        let to = format!("lifetimes.login_seconds = {seconds}\nplatform =");
        Folder::good().edit("passerelle.toml", "platform =", &to)
    };
    assert!(warning(&with(5), "lifetimes.login_seconds").unwrap().ends_with("write 600"));
    assert_eq!(warning(&with(60), "lifetimes.login_seconds"), None);
}

#[test]
fn a_file_with_another_extension_is_warned_about_unless_a_key_names_it() {
    let folder = Folder::good()
        .with("connectors/bank.yaml", "")
        .with("service-providers/shop.TOML", "")
        .with("data-providers/archive.json", "")
        .with("notices.yml", "")
        .with("connectors/old.toml.disabled", "")
        .with("connectors/bank.svg", "")
        .with("facts.json", "");
    let loaded = folder.loaded();
    let found: Vec<(String, &str)> = loaded
        .warnings
        .iter()
        .filter(|warning| warning.message.contains("is ignored"))
        .map(|warning| {
            let file = Path::new(&warning.file).strip_prefix(folder.path()).unwrap();
            (file.display().to_string(), warning.fix.as_str())
        })
        .collect();
    let expected = [
        ("connectors/bank.yaml", "rename it to bank.toml, or move it out of the folder"),
        ("data-providers/archive.json", "rename it to archive.toml, or move it out of the folder"),
        ("notices.yml", "rename it to notices.toml, or move it out of the folder"),
        ("service-providers/shop.TOML", "rename it to shop.toml, or move it out of the folder"),
    ];
    let expected: Vec<_> = expected.iter().map(|(file, fix)| ((*file).to_owned(), *fix)).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_fix_is_what_to_type() {
    for (file, from, to, fix) in [
        (
            "passerelle.toml",
            "base_url = \"https://login.example.org\"",
            "",
            "add base_url = \"https://login.example.org\"",
        ),
        (
            "connectors/idp.toml",
            "name = { en = \"Provider\" }",
            "name = \"Bank\"",
            "write name = { en = \"…\" }",
        ),
        (
            "connectors/idp.toml",
            "levels = { lowest = \"eidas1\", highest = \"eidas2\" }",
            "",
            "add levels = { highest = \"eidas1\", lowest = \"eidas1\" }",
        ),
        (
            "service-providers/sp.toml",
            "scopes = [\"openid\", \"email\"]",
            "scopes = \"openid\"",
            "write scopes = [\"openid\"]",
        ),
        (
            "service-providers/sp.toml",
            "\"https://sp.example.org/callback\"",
            "1",
            "write redirect_uris = [\"https://app.example.org/callback\"]",
        ),
        (
            "passerelle.toml",
            "platform =",
            "lifetimes.code_seconds = \"30\"\nplatform =",
            "write a number from 1 to 600",
        ),
        ("passerelle.toml", "platform =", "sandbox = \"yes\"\nplatform =", "write true or false"),
    ] {
        let (_, _, text) = Folder::good().edit(file, from, to).problem();
        assert!(text.ends_with(fix), "{text}");
    }
}

#[test]
fn the_effective_settings_leave_no_key_without_a_value() {
    let loaded = Folder::good().loaded();
    let value = crate::effective_settings::effective_settings(&loaded.settings, KINDS).unwrap();
    assert_eq!(value["lifetimes"]["login_seconds"], 1800);
    assert_eq!(value["limits"]["login_bytes"], loaded.settings.limits.login_bytes());
    assert_eq!(value["audit"]["keep_days"], "never");
    assert_eq!(value["theme"], "the built-in theme");
    assert!(!value.to_string().contains("null"), "{value:#}");
}
