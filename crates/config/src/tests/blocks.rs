use super::super::tests::{CLIENT_SECRET, Folder};
use passerelle_federation::blocks::{BlockTarget, find_block_in_force};
use passerelle_federation::validity::format_rfc3339;
use passerelle_protocol::env::Timestamp;

const IDP: &str = "connectors/idp.toml";
const TOKEN: &str = "private.admin_token = { env = \"ADMIN_TOKEN\" }\nidentity_source";

fn blocked(table: &str) -> Folder {
    Folder::good().edit(IDP, "[acr]", &format!("[[block]]\n{table}\n[acr]"))
}

#[test]
fn a_block_of_a_connectors_file_is_read() {
    let dates = "from = 2027-03-01T20:00:00Z\nuntil = \"2027-03-02T06:00:00+01:00\"";
    let table = format!(
        "reason = \"works\"\nmessage = {{ fr = \"Fermé\" }}\nservice_providers = [\"sp\"]\n{dates}"
    );
    let loaded = blocked(&table).loaded();
    let [block] = loaded.connectors.get("idp").unwrap().blocks.as_slice() else {
        panic!("one block")
    };
    assert_eq!((block.reason.as_str(), block.message["fr"].as_str()), ("works", "Fermé"));
    assert_eq!(block.target, BlockTarget::Only(["sp".into()].into()));
    assert_eq!(
        block.validity.not_before.map(format_rfc3339).as_deref(),
        Some("2027-03-01T20:00:00Z")
    );
    assert_eq!(
        block.validity.not_after.map(format_rfc3339).as_deref(),
        Some("2027-03-02T05:00:00Z")
    );
    assert!(!loaded.warnings.iter().any(|warning| warning.key.starts_with("block")));
    let anybody = blocked("reason = \"works\"").loaded();
    let blocks = &anybody.connectors.get("idp").unwrap().blocks;
    assert!(
        find_block_in_force(blocks, &"idp".into(), &"any-sp".into(), Timestamp::default())
            .is_some()
    );
}

#[test]
fn a_bad_block_is_named_with_its_fix() {
    for (table, key, words) in [
        ("message = { en = \"x\" }", "block[0].reason", "is missing"),
        ("reason = \"\"", "block[0].reason", "write 1 to 200 printable characters"),
        (
            "reason = \"r\"\nmessage = { english = \"x\" }",
            "block[0].message.english",
            "is not a language",
        ),
        (
            "reason = \"r\"\nmessage = { en = \"a\\nb\" }",
            "block[0].message.en",
            "write 1 to 300 printable characters",
        ),
        (
            "reason = \"r\"\nservice_providers = []",
            "block[0].service_providers",
            "remove the key to block it for all",
        ),
        (
            "reason = \"r\"\nfrom = 2027-03-01",
            "block[0].from",
            "write a date, a time and a time zone",
        ),
        (
            "reason = \"r\"\nfrom = 2027-03-01T00:00:00Z\nuntil = 2027-03-01T00:00:00Z",
            "block[0].until",
            "after from",
        ),
        (
            "reason = \"r\"\nlasting = \"x\"",
            "block[0].lasting",
            "use one of: reason, message, service_providers, from, until",
        ),
    ] {
        let (file, named, text) = blocked(table).problem();
        assert_eq!((file.as_str(), named.as_str()), (IDP, key), "{table}: {text}");
        assert!(text.contains(words), "{table}: {text}");
    }
}

#[test]
fn a_block_for_an_unknown_service_provider_is_a_warning() {
    let loaded = blocked("reason = \"r\"\nservice_providers = [\"sp\", \"ghost\"]").loaded();
    let warning =
        loaded.warnings.iter().find(|warning| warning.key == "block[0].service_providers").unwrap();
    assert!(
        warning.message.starts_with("names ghost,")
            && warning.file.ends_with("connectors/idp.toml"),
        "{warning}"
    );
}

#[test]
fn an_administrators_token_that_could_be_guessed_is_refused() {
    let with = |token: &str| {
        Folder::good()
            .edit("passerelle.toml", "identity_source", TOKEN)
            .variable("ADMIN_TOKEN", token)
    };
    assert_eq!(with(CLIENT_SECRET).loaded().admin_token.unwrap().reveal(), CLIENT_SECRET);
    assert!(Folder::good().loaded().admin_token.is_none());
    for weak in [&CLIENT_SECRET[..31], &format!("{CLIENT_SECRET} "), &format!("{CLIENT_SECRET}é")]
    {
        let (file, key, text) = with(weak).problem();
        assert_eq!((file.as_str(), key.as_str()), ("passerelle.toml", "private.admin_token"));
        assert!(text.contains("openssl rand -hex 32") && !text.contains(weak), "{text}");
    }
}

#[test]
fn the_variable_behind_an_overlaid_token_is_no_setting() {
    let folder = Folder::good()
        .variable("PASSERELLE_PRIVATE__ADMIN_TOKEN__ENV", "PASSERELLE_ADMIN_TOKEN")
        .variable("PASSERELLE_ADMIN_TOKEN", CLIENT_SECRET);
    assert_eq!(folder.loaded().admin_token.unwrap().reveal(), CLIENT_SECRET);
}
