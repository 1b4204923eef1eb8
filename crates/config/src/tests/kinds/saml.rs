//! Tests invalid values of the `[kind.saml]` table.

use crate::tests::Folder;
use crate::tests::kinds::check;

/// A file that exists in the folder of the tests stands for the metadata, which is read when the
/// connector is built.
const SAML: &str = r#"
name = { en = "University" }
levels = { lowest = "eidas1", highest = "eidas2" }
acr = { eidas1 = ["urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport"], eidas2 = ["https://refeds.org/profile/mfa"] }
[kind.saml]
entity_id = "https://idp.example/saml"
metadata_file = "passerelle.toml"
private_keys = { env = "CONNECTOR_KIND__SECRET" }
"#;

const FILE: &str = "metadata_file = \"passerelle.toml\"";

#[test]
fn each_bad_setting_is_named_with_its_fix() {
    check(
        SAML,
        &[
            ("https://idp.example/saml", "", "kind.saml.entity_id", "copy entityID"),
            ("https://idp.example/saml", "my idp", "kind.saml.entity_id", "has a space"),
            (
                "private_keys",
                "service_provider_entity_id = \"\"\nprivate_keys",
                "kind.saml.service_provider_entity_id",
                "is empty",
            ),
            (FILE, "", "kind.saml.metadata_file", "is missing"),
            (FILE, "metadata_file = \"none.xml\"", "kind.saml.metadata_file", "missing"),
            (
                FILE,
                "metadata_file = \"passerelle.toml\"\nmetadata_url = \"https://idp.example/metadata\"",
                "kind.saml.metadata_url",
                "another source",
            ),
            (
                FILE,
                "metadata_url = \"https://idp.example/metadata\"",
                "kind.saml.metadata_signers",
                "anyone on the way",
            ),
            (
                FILE,
                "metadata_query_url = \"http://mdq.example\"\nmetadata_signers = \"passerelle.toml\"",
                "kind.saml.metadata_query_url",
                "https",
            ),
            (
                "private_keys",
                "metadata_signers = \"passerelle.toml\"\nprivate_keys",
                "kind.saml.metadata_signers",
                "no effect",
            ),
            (
                "private_keys",
                "metadata_max_validity_days = 366\nprivate_keys",
                "kind.saml.metadata_max_validity_days",
                "from 1 to 365",
            ),
            (
                "private_keys",
                "name_id_format = \"urn:oasis:names:tc:SAML:2.0:nameid-format:transient\"\nprivate_keys",
                "kind.saml.name_id_format",
                "differs at each login",
            ),
            (
                "private_keys",
                "subject_attribute = \" \"\nprivate_keys",
                "kind.saml.subject_attribute",
                "is empty",
            ),
            (
                "private_keys",
                "internal_hosts = [\"https://idp\"]\nprivate_keys",
                "kind.saml.internal_hosts[0]",
                "host",
            ),
            (
                "private_keys",
                "organization = { name = { english = \"Town\" }, url = { en = \"https://town.example\" } }\nprivate_keys",
                "kind.saml.organization.name.english",
                "two-letter language code",
            ),
            (
                "private_keys",
                "organization = { name = { en = \"Town\" }, url = { en = \"town.example\" } }\nprivate_keys",
                "kind.saml.organization.url.en",
                "https",
            ),
            (
                "private_keys",
                "contacts = [{ type = \"other\", email = \"mailto:town.example\" }]\nprivate_keys",
                "kind.saml.contacts[0].email",
                "mailto:saml@example.org",
            ),
            (
                "private_keys",
                "contacts = [{ type = \"other\", company = \"a\\u0001b\" }]\nprivate_keys",
                "kind.saml.contacts[0].company",
                "control characters",
            ),
            (
                "private_keys",
                "contacts = [{ type = \"other\", extensions = \"</md:Extensions><md:Extensions>\" }]\nprivate_keys",
                "kind.saml.contacts[0].extensions",
                "not well-formed",
            ),
            (
                "private_keys",
                "contacts = [{ type = \"other\", extensions = \"<Code>1</Code>\" }]\nprivate_keys",
                "kind.saml.contacts[0].extensions",
                "declare their namespace",
            ),
            (
                "private_keys",
                "requested_attributes = [{ name = \"mail\" }]\nprivate_keys",
                "kind.saml.service_name",
                "no text in any language",
            ),
            (
                "private_keys",
                "service_name = { en = \"Portal\" }\nprivate_keys",
                "kind.saml.service_name",
                "no effect",
            ),
            (
                "private_keys",
                "service_name = { en = \"Portal\" }\nrequested_attributes = [{ name = \"mail\" }, { name = \"mail\" }]\nprivate_keys",
                "kind.saml.requested_attributes[1].name",
                "listed twice",
            ),
            ("CONNECTOR_KIND__SECRET", "OTHER", "kind.saml.private_keys.env", "CONNECTOR_KIND__"),
            (", eidas2 = [\"https://refeds.org/profile/mfa\"]", "", "acr", "no value for eidas2"),
        ],
    );
}

#[test]
fn a_rotation_of_the_hubs_keys_that_metadata_can_not_announce_in_time_is_a_warning() {
    const KEY: &str = "lifetimes.signing_key_lead_seconds";
    let without_keys = SAML.replace("private_keys = { env = \"CONNECTOR_KIND__SECRET\" }", "");
    let rotated = "rotate_keys_every_days = 90\n";
    let slow = "rotate_keys_every_days = 90\nlifetimes.signing_key_lead_seconds = 86400\n";
    for (settings, file, is_warned) in [
        (rotated, without_keys.as_str(), true),
        (rotated, SAML, false),
        (slow, without_keys.as_str(), false),
        ("", without_keys.as_str(), false),
    ] {
        let settings = format!("{settings}identity_source");
        let folder = Folder::good().edit("passerelle.toml", "identity_source", &settings);
        let warnings = folder.with("connectors/kind.toml", file).loaded().warnings;
        let warned = warnings.iter().any(|warning| warning.key == KEY);
        assert_eq!(warned, is_warned, "{settings}\n{file}");
    }
}
