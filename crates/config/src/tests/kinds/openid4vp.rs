//! Tests invalid values of the `[kind.openid4vp]` table.

use crate::tests::kinds::check;

/// Returns the connector's file. Files that exist in the folder of the tests stand for the
/// certificates, which are read when the connector is built.
fn wallet() -> String {
    include_str!("../../../../../tests/fixtures/openid4vp/connector.toml")
        .replace("wallet/access.pem", "passerelle.toml")
        .replace("wallet/issuers.pem", "passerelle.toml")
        .replace(
            "file = \"secrets/connectors/wallet/access.key\"",
            "env = \"CONNECTOR_KIND__SECRET\"",
        )
}

#[test]
fn each_bad_setting_is_named_with_its_fix() {
    check(
        &wallet(),
        &[
            (
                "trust_anchors = \"passerelle.toml\"",
                "",
                "kind.openid4vp.trust_anchors",
                "no issuer is trusted",
            ),
            (
                "certificate = \"passerelle.toml\"",
                "certificate = \"none.pem\"",
                "kind.openid4vp.certificate",
                "missing",
            ),
            (
                "subject_claims",
                "request_minutes = 11\nsubject_claims",
                "kind.openid4vp.request_minutes",
                "from 1 to 10",
            ),
            (
                "subject_claims",
                "extended_key_usages = [\"serverAuth\"]\nsubject_claims",
                "kind.openid4vp.extended_key_usages",
                "no object identifier",
            ),
            (
                "subject_claims",
                "trust_lists = [{ url = \"https://l.example\", signers = \"passerelle.toml\", credentials = [\"none\"] }]\nsubject_claims",
                "kind.openid4vp.trust_lists[0].credentials",
                "no credential",
            ),
            (
                "types =",
                "issuers = [\"PID issuer\"]\ntypes =",
                "kind.openid4vp.credentials[0].issuers",
                "neither a subject nor a fingerprint",
            ),
            (
                "types =",
                "issuers = [\"sha256:AAAA\"]\ntypes =",
                "kind.openid4vp.credentials[0].issuers",
                "neither a subject nor a fingerprint",
            ),
            (
                "types =",
                "trust_anchors = \"none.pem\"\ntypes =",
                "kind.openid4vp.credentials",
                "missing",
            ),
            ("subject_claims", "algs = []\nsubject_claims", "kind.openid4vp.algs", "is empty"),
            ("subject_claims", "wallets = []\nsubject_claims", "kind.openid4vp.wallets", "no link"),
            (
                "subject_claims",
                "wallets = [{ url = \"javascript:alert(1)//\" }]\nsubject_claims",
                "kind.openid4vp.wallets[0].url",
                "no address",
            ),
            (
                "subject_claims",
                "wallets = [{ url = \"http://wallet.example\" }]\nsubject_claims",
                "kind.openid4vp.wallets[0].url",
                "no address",
            ),
            (
                "[\"personal_administrative_number\", \"issuing_country\"]",
                "[]",
                "kind.openid4vp.subject_claims",
                "is empty",
            ),
            (
                "[\"personal_administrative_number\", \"issuing_country\"]",
                "[\"personal_administrative_number\"]",
                "kind.openid4vp.subject_claims",
                "another country",
            ),
            (
                "[\"personal_administrative_number\", \"issuing_country\"]",
                "[\"document_number\"]",
                "kind.openid4vp.subject_claims",
                "does not require",
            ),
            (
                "[\"personal_administrative_number\", \"issuing_country\"]",
                "[\"/personal_administrative_number\"]",
                "kind.openid4vp.subject_claims",
                "another country",
            ),
            (
                "[\"personal_administrative_number\", \"issuing_country\"]",
                "[\"/family_name/~2\"]",
                "kind.openid4vp.subject_claims",
                "family_name/~2",
            ),
            (
                "subject_claims",
                "cross_device_url = \"javascript:alert(1)//\"\nsubject_claims",
                "kind.openid4vp.cross_device_url",
                "no address",
            ),
            (
                "types =",
                "retained_claims = [\"sex\"]\ntypes =",
                "kind.openid4vp.credentials[0].retained_claims",
                "only requests for an mdoc",
            ),
            (
                "id = \"pid\"",
                "id = \"p d\"",
                "kind.openid4vp.credentials[0].id",
                "another character",
            ),
            (
                "types = [\"urn:eudi:pid:1\"]",
                "types = []",
                "kind.openid4vp.credentials[0].types",
                "is empty",
            ),
            (
                "levels = { lowest = \"eidas1\", highest = \"eidas3\" }",
                "levels = { lowest = \"eidas1\", highest = \"eidas2\" }",
                "kind.openid4vp.level",
                "outside levels",
            ),
            ("levels =", "assumed_level = \"eidas1\"\nlevels =", "assumed_level", "no effect"),
            (
                "CONNECTOR_KIND__SECRET",
                "CONNECTOR_KIND__UNSET",
                "kind.openid4vp.private_key.env",
                "not set",
            ),
        ],
    );
}

#[test]
fn the_subject_needs_no_particular_spelling_of_its_claims() {
    let pointers = wallet().replace(
        "subject_claims = [\"personal_administrative_number\", \"issuing_country\"]",
        "subject_claims = [\"/personal_administrative_number\", \"/issuing_country\"]",
    );
    check(&pointers, &[]);
}
