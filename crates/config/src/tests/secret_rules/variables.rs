//! Tests which variables a file can reference.

use super::*;

#[test]
fn a_connector_that_names_a_variable_of_the_settings_or_of_another_is_refused() {
    for name in [
        "ADMIN_TOKEN",
        "PATH",
        "SERVICE_PROVIDER_SP__SECRET",
        "CONNECTOR_OTHER__SECRET",
        "CONNECTOR_IDP_B__SECRET",
        "CONNECTOR_IDP",
        "CONNECTOR_IDP__",
        "PASSERELLE_HOME_COUNTRY",
        "SERVICE_PROVIDER_IDP__SECRET",
    ] {
        let folder = hub()
            .variable("CONNECTOR_IDP_B__SECRET", "another's")
            .variable("SERVICE_PROVIDER_IDP__SECRET", "another's");
        let (key, text) = refused(folder, &format!("{{ env = \"{name}\" }}"));
        assert_eq!(key, "kind.oidc.client_secret.env", "{name}");
        assert!(
            text.contains("may not reference") && text.contains("start with CONNECTOR_IDP__:"),
            "{name}: {text}"
        );
        assert!(!text.contains(name) || "CONNECTOR_IDP__".starts_with(name), "{name}: {text}");
    }
    let taken = hub().edit("passerelle.toml", "\"ADMIN_TOKEN\"", "\"CONNECTOR_IDP__SECRET\"");
    let taken =
        taken.variable("CONNECTOR_IDP__SECRET", "an-admin-token-of-more-than-32-characters");
    let (_, key, text) = taken.problem();
    assert!(
        key == "kind.oidc.client_secret.env" && text.contains("may not reference"),
        "{key}: {text}"
    );
}

#[test]
fn an_unset_variable_is_named_where_it_is_one() {
    let (_, _, text) = Folder::good()
        .edit(CONNECTOR, "CONNECTOR_IDP__SECRET", "CONNECTOR_IDP__CLIENT_SECRTE")
        .problem();
    assert!(text.contains("environment variable CONNECTOR_IDP__CLIENT_SECRTE"), "{text}");
    let (_, _, text) =
        Folder::good().edit("passerelle.toml", "\"SUBJECT_KEY\"", "\"SUBJECT_KYE\"").problem();
    assert!(text.contains("SUBJECT_KYE"), "{text}");
    for secret in ["JBSWY3DPEHPK3PXP", "hunter2_hunter2", "0123_ABCD", "PASSWORD"] {
        let (_, _, text) = Folder::good()
            .edit("passerelle.toml", "\"SUBJECT_KEY\"", &format!("\"{secret}\""))
            .problem();
        assert!(!text.contains(secret), "{text}");
    }
}
