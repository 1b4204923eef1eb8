use super::super::PrivateKeyAccess;
use super::super::tests::Folder;

fn with(table: &str) -> Folder {
    let settings = format!("identity_source = \"provider\"\n[pkcs11]\n{table}\n");
    Folder::good()
        .edit("passerelle.toml", "identity_source = \"provider\"\n", &settings)
        .with("pin", "73-correct-horse\n")
}

const GOOD: &str = "module = \"hsm.so\"\ntoken = \"passerelle\"\npin = { file = \"pin\" }";

#[test]
fn keys_are_in_files_by_default() {
    assert_eq!(Folder::good().loaded().private_keys, PrivateKeyAccess::default());
}

#[cfg(feature = "pkcs11")]
#[test]
fn the_pin_is_a_secret_and_its_file_is_known() {
    let folder = with(GOOD);
    let loaded = folder.loaded();
    let access = loaded.private_keys.pkcs11.as_ref().unwrap();
    assert_eq!(access.pin.reveal(), "73-correct-horse");
    assert_eq!(access.pin_file, Some(folder.path().join("pin")));
    assert_eq!(access.module, folder.path().join("hsm.so"));
    assert_eq!((access.new_keys.len(), access.sessions, access.timeout_seconds), (3, 4, 2));
    assert!(!format!("{loaded:?}").contains("73-correct-horse"));
}

#[cfg(not(feature = "pkcs11"))]
#[test]
fn a_build_without_pkcs11_rejects_a_token() {
    let (file, key, text) = with(GOOD).problem();
    assert_eq!((file.as_str(), key.as_str()), ("passerelle.toml", "pkcs11"));
    assert!(text.contains("`--features pkcs11`"), "{text}");
}

#[test]
fn bad_settings_of_a_token_are_named_with_their_fix() {
    for (from, to, key, words) in [
        ("hsm.so", "", "pkcs11.module", "libsofthsm2.so"),
        ("passerelle", "", "pkcs11.token", "label"),
        ("passerelle", &"x".repeat(33), "pkcs11.token", "32 bytes"),
        ("{ file = \"pin\" }", "{ env = \"HSM_PIN\" }", "pkcs11.pin.env", "HSM_PIN"),
        ("{ file = \"pin\" }", "{}", "pkcs11.pin", "exactly one"),
        ("token =", "sessions = 0\ntoken =", "pkcs11.sessions", "from 1 to 256"),
        ("token =", "timeout_seconds = 61\ntoken =", "pkcs11.timeout_seconds", "from 1 to 60"),
    ] {
        let (file, _, text) = with(&GOOD.replace(from, to)).problem_at(key);
        assert!(file == "passerelle.toml" && text.contains(words), "{key}: {text}");
    }
}
