//! Tests of connector files of any kind.

use super::*;
use passerelle_protocol::catalogue::Param;

/// A list of one value of 129 characters.
const ENDLESS: &str = concat!(
    "[\"",
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "!\"]"
);

#[test]
fn each_bad_connector_is_named_with_its_fix() {
    let file = "connectors/idp.toml";
    let rows: &[Row] = &[
        (file, "[acr]", "category = \"Health\"\n[acr]", "category", "a-z, 0-9"),
        (file, "[acr]", "search_terms = [\"a\", \"*\"]\n[acr]", "search_terms[1]", "a word"),
        (file, "[acr]", "logo = \"none.svg\"\n[acr]", "logo", "put the logo there"),
        (file, "[acr]", "logo = \"idp.toml\"\n[acr]", "logo", ".svg or .png"),
        (file, "[acr]", "logo = \"/etc/passwd\"\n[acr]", "logo", "folder of this file"),
        (file, "lowest = \"eidas1\"", "lowest = \"eidas3\"", "levels", "above the highest"),
        (file, "highest = \"eidas2\"", "highest = \"eidas3\"", "acr", "add eidas3"),
        (file, "highest = \"eidas2\"", "highest = \"eidas1\"", "acr.eidas2", "outside"),
        (file, "\"substantial\"", "\"low\"", "acr.eidas2", "another level"),
        (file, "[\"low\"]", "[]", "acr.eidas1", "is empty or contains an empty value"),
        (file, "[\"low\"]", "[\"low two\"]", "acr.eidas1", "with a space"),
        (file, "[\"low\"]", "[\" low\"]", "acr.eidas1", "with a space"),
        (file, "eidas1 = [\"low\"]", "eidas9 = [\"low\"]", "acr.eidas9", "did you mean"),
        (
            file,
            "[acr]\neidas1 = [\"low\"]\neidas2 = [\"substantial\"]",
            "",
            "acr",
            "assumed_level = \"eidas1\"",
        ),
        (
            file,
            "[acr]",
            "assumed_level = \"eidas2\"\n[acr]",
            "assumed_level",
            "only level that may be assumed",
        ),
        (file, "[acr]", "ignore_acr = true\n[acr]", "ignore_acr", "add assumed_level"),
        (
            file,
            "[acr]",
            "assumed_level = \"eidas1\"\nignore_acr = true\n[acr]",
            "acr",
            "or ignore_acr",
        ),
        (file, "[acr]", "[acr]\nsend = \"no\"", "acr.send", "true or false"),
        (file, "[\"low\"]", "[\"low\\u0007\"]", "acr.eidas1", "without control characters"),
        (file, "[\"low\"]", ENDLESS, "acr.eidas1", "at most 128 bytes"),
        (file, "[acr]", "limits.calls = 0\n[acr]", "limits.calls", "from 1 to 65536"),
        (file, "[acr]", "limits = { queue = 65537 }\n[acr]", "limits.queue", "from 0 to 65536"),
        (file, "[acr]", "limits = { queue_ms = 5001 }\n[acr]", "limits.queue_ms", "from 0 to 5000"),
        (file, "[acr]", "limits = { call = 1 }\n[acr]", "limits.call", "did you mean `calls`?"),
        (file, "[acr]", "amr = [\"pwd\", \"magic\"]\n[acr]", "amr[1]", "RFC 8176"),
        (file, "[acr]", "amr = [\"pwd\", \"mfa\"]\n[acr]", "amr", "the hub derives mfa"),
        (file, "[acr]", "passed_amr = [\"eid\", \"pwd\"]\n[acr]", "passed_amr[1]", "remove it"),
        (file, "[acr]", "passed_amr = [\"e id\"]\n[acr]", "passed_amr[0]", "without spaces"),
        (
            file,
            "lowest = \"eidas1\"",
            "lowest = \"substantial\"",
            "levels.lowest",
            "eidas1, eidas2, eidas3",
        ),
        (file, "[\"low\"]", "[\"low\", \"\"]", "acr.eidas1", "empty"),
        (file, "eidas1\", h", "eidas2\", h", "acr.eidas1", "outside"),
        (file, "[acr]\neidas1 = [\"low\"]\n", "[acr]\n", "acr", "add eidas1"),
        (file, "lowest = \"eidas1\"", "lowest = \"eidas2\"", "acr.eidas1", "outside"),
        (file, "[acr]", "mfa = [\"mfa\"]\n[acr]", "mfa", "by itself"),
        (file, "[kind.oidc]", "[kind.persona]\n[kind.oidc]", "kind", "keep one"),
    ];
    check_rows(rows);
}

#[test]
fn an_unknown_kind_is_answered_with_the_list() {
    let names: Vec<_> = KINDS.connectors.iter().map(|kind| kind.name).collect();
    for (to, key, words) in [
        ("[kind.cas]", "kind.cas", "not one of the allowed words"),
        ("[kind]\ncas = 1\n[cas]", "kind.cas", "not one of the allowed words"),
    ] {
        let folder = Folder::good().edit("connectors/idp.toml", "[kind.oidc]", to);
        let (_, _, text) = folder.problem_at(key);
        let fix = format!("{words}. write one of: {}", names.join(", "));
        assert!(text.contains(&fix), "{text}");
    }
    for kind in ["kind = 5", "kind = {}", "kind = []", "kind = \"oidc\""] {
        let rest = "[kind.oidc]\nissuer = \"https://idp.example.org\"\nclient_id = \"hub\"\nclient_secret = { env = \"CONNECTOR_IDP__SECRET\" }\n";
        let folder = Folder::good().edit("connectors/idp.toml", rest, "").edit(
            "connectors/idp.toml",
            "name =",
            &format!("{kind}\nname ="),
        );
        let (_, key, text) = folder.problem();
        assert!(key == "kind" && text.contains("must be a table"), "{kind}: {text}");
    }
}

#[test]
fn a_connector_whose_users_may_edit_themselves_is_refused_for_pivot_identities() {
    let silent = || Folder::good().edit("connectors/idp.toml", "identity = \"verified\"\n", "");
    let loaded = silent().loaded();
    let [refused] = loaded.unverified_connectors.as_slice() else {
        panic!("{:?}", loaded.unverified_connectors)
    };
    assert!(
        refused.file.ends_with("connectors/idp.toml") && refused.key == "identity",
        "{refused}"
    );
    assert!(refused.fix.contains("identity = \"verified\""), "{refused}");
    assert!(
        crate::render_check_output(&Ok(loaded.clone()), Timestamp::default()).contains("1 problem")
    );
    assert_eq!(
        (loaded.files.unverified_connectors().len(), loaded.files.diagnostics().len()),
        (1, 0),
        "it is in use, and not held back"
    );
    let proves_identity = |loaded: &LoadedConfig| {
        loaded.build_federation().connector(&"idp".into()).unwrap().proves_identity
    };
    assert_eq!(
        (proves_identity(&loaded), proves_identity(&Folder::good().loaded())),
        (false, true)
    );
    let subject = "subject = \"provider\"\nidentity_source";
    assert!(
        silent()
            .edit("passerelle.toml", "identity_source", subject)
            .loaded()
            .unverified_connectors
            .is_empty()
    );
    assert!(Folder::good().loaded().unverified_connectors.is_empty());
}

#[test]
fn a_connector_with_the_callbacks_time_must_set_reauthenticates() {
    let with = |lines: &str| {
        Folder::good().edit("connectors/idp.toml", "client_id", &format!("{lines}\nclient_id"))
    };
    for (lines, reauthenticates) in [
        ("", true),
        ("auth_time = \"callback\"", false),
        ("auth_time = \"callback\"\nreauthenticates = true", true),
    ] {
        let loaded = with(lines).loaded();
        let federation = loaded.build_federation();
        assert_eq!(
            federation.connector(&"idp".into()).unwrap().reauthenticates,
            reauthenticates,
            "{lines}"
        );
        assert_eq!(
            loaded.warnings.iter().any(|warning| warning.key == "kind.oidc.auth_time"),
            !reauthenticates,
            "{lines}"
        );
    }
    let (_, key, text) = with("reauthenticates = true").problem();
    assert_eq!(key, "kind.oidc.reauthenticates");
    assert!(text.contains("has no effect"), "{text}");
}

#[test]
fn a_connectors_name_is_an_id() {
    for name in ["confirm.toml", "La-Poste.toml", "a_b.toml"] {
        let connector =
            CONNECTOR.replace("{ env = \"CONNECTOR_IDP__SECRET\" }", "{ file = \"x\" }");
        let (file, _, text) =
            Folder::good().with(&format!("connectors/{name}"), connector).problem_at("");
        assert_eq!(file, format!("connectors/{name}"));
        assert!(text.contains("rename it"));
    }
    Folder::good()
        .with("connectors/.draft.toml", "x")
        .with("connectors/b.toml.template", "x")
        .loaded();
}

#[test]
fn a_protocol_parameter_can_not_be_forwarded() {
    let forwarding = |name: &str, rule: &str| {
        let table = format!("\n[kind.oidc.forwarded_params]\n\"{name}\" = {{ {rule} }}\n");
        Folder::good().with("connectors/idp.toml", format!("{CONNECTOR}{table}"))
    };
    let any = "pattern = \".*\"";
    let read = Param::AUTHORIZATION.iter().map(|param| param.name());
    let others = ["resource", "client_secret", "iss", "aud", "exp", "sub", "authorization_details"];
    for reserved in read.chain(others).filter(|name| *name != "login_hint") {
        for name in [reserved.to_owned(), reserved.to_ascii_uppercase()] {
            let (_, key, text) = forwarding(&name, any).problem();
            assert_eq!(key, format!("kind.oidc.forwarded_params.{name}"));
            assert!(text.contains("must not choose"), "{name}: {text}");
        }
    }
    for name in ["client.id", "client id", "client%5Fid", "state[]", "stäte", "", "a&state"] {
        let (_, _, text) = forwarding(name, any).problem();
        assert!(text.contains("is not the name of a parameter"), "{name}: {text}");
    }
    for rule in ["pattern = \"(\"", "pattern = \"a)|(b\"", "pattern = \"(\\\\w{900}){900}\""] {
        let (_, key, _) = forwarding("siret_hint", rule).problem();
        assert_eq!(key, "kind.oidc.forwarded_params.siret_hint.pattern");
    }
    for (file, is_fixed) in [
        ("login_hint = true", true),
        ("authorize_params = { LOGIN_hint = \"x\" }", true),
        ("", false),
    ] {
        let text = CONNECTOR.replace("[kind.oidc]", &format!("[kind.oidc]\n{file}"));
        let rule =
            "\n[kind.oidc.forwarded_params]\nlogin_hint = { pattern = \".*\", max_length = 512 }\n";
        let folder = Folder::good().with("connectors/idp.toml", format!("{text}{rule}"));
        if is_fixed {
            assert!(folder.problem().2.contains("is also set by this file"), "{file}");
        } else {
            folder.loaded();
        }
    }
}
