use super::super::tests::Folder;

fn with(table: &str) -> Folder {
    let settings = format!("identity_source = \"provider\"\n[vault_transit]\n{table}\n");
    Folder::good()
        .edit("passerelle.toml", "identity_source = \"provider\"\n", &settings)
        .with("vault.token", "hvs.73-correct-horse\n")
        .with("pin", "1234")
}

const GOOD: &str =
    "address = \"https://vault.example.org:8200\"\ntoken = { file = \"vault.token\" }";

#[test]
fn the_token_is_a_secret_and_its_file_is_known() {
    let folder = with(GOOD);
    let loaded = folder.loaded();
    let access = loaded.private_keys.vault_transit.as_ref().unwrap();
    assert_eq!(access.token.reveal(), "hvs.73-correct-horse");
    assert_eq!(access.token_file, Some(folder.path().join("vault.token")));
    assert_eq!((access.mount.as_str(), access.timeout_seconds), ("transit", 2));
    assert_eq!(access.new_keys.len(), 2, "keys that sign");
    assert!(!format!("{loaded:?}").contains("73-correct-horse"));
}

#[test]
fn an_agent_on_this_machine_may_be_reached_without_tls() {
    for address in ["http://127.0.0.1:8100", "http://127.8.9.10", "http://[::1]:8100"] {
        with(&GOOD.replace("https://vault.example.org:8200", address)).loaded();
    }
}

/// The resolver of the machine, or of its network, says where a name leads.
#[test]
fn a_name_that_resolves_to_an_attacker_gets_no_token_over_plain_http() {
    for host in [
        "localhost:8100",
        "LOCALHOST.:8100",
        "vault.localhost:8100",
        "127.0.0.1.attacker.example",
        "[::ffff:127.0.0.1]:8100",
        "0.0.0.0:8100",
        "10.0.0.1:8100",
    ] {
        let table = GOOD.replace("https://vault.example.org:8200", &format!("http://{host}"));
        let (_, _, text) = with(&table).problem_at("vault_transit.address");
        assert!(text.contains("http is for 127.0.0.1 and [::1] only"), "{host}: {text}");
    }
    with(&GOOD.replace("vault.example.org", "localhost")).loaded();
}

#[test]
fn bad_settings_of_a_server_are_named_with_their_fix() {
    for (from, to, key, words) in [
        ("https://vault", "http://vault", "vault_transit.address", "plain http"),
        ("https://", "https://user@", "vault_transit.address", "user name"),
        ("token = {", "mount = \"a/../../sys\"\ntoken = {", "vault_transit.mount", "vault secrets"),
        ("token = {", "namespace = \"a\\r\\nb\"\ntoken = {", "vault_transit.namespace", "path"),
        ("token = {", "ca = \"absent.pem\"\ntoken = {", "vault_transit.ca", "missing"),
        ("token = {", "timeout_seconds = 0\ntoken = {", "vault_transit.timeout_seconds", "1 to 60"),
        ("vault.token", "absent", "vault_transit.token.file", "missing"),
        (
            "token = {",
            "new_keys = [\"tokens\", \"encryption\"]\ntoken = {",
            "vault_transit.new_keys",
            "rsa_encryption",
        ),
    ] {
        let (file, _, text) = with(&GOOD.replace(from, to)).problem_at(key);
        assert!(file == "passerelle.toml" && text.contains(words), "{key}: {text}");
    }
}

#[cfg(feature = "pkcs11")]
#[test]
fn a_key_is_generated_in_one_device() {
    let token = "[pkcs11]\nmodule = \"hsm.so\"\ntoken = \"hub\"\npin = { file = \"pin\" }";
    let (_, _, text) = with(&format!("{GOOD}\n{token}")).problem_at("vault_transit.new_keys");
    assert!(text.contains("new_keys = []"), "{text}");
    with(&format!("{GOOD}\n{token}\nnew_keys = [\"encryption\"]")).loaded();
}
