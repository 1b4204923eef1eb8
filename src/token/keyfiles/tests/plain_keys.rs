//! Folders whose private keys must be encrypted or in a device.

use super::*;

fn refusing<'a>(source: KeyFolder<'a>) -> KeyFolder<'a> {
    KeyFolder { refuses_plain_keys: true, ..source }
}

/// The attacker can write to the folder and does not know the passphrase.
#[test]
fn a_planted_plain_key_file_is_refused() {
    let (folder, attacker) = (Folder::empty(), Folder::with_keys());
    let source = refusing(with_passphrase(&folder, PASSPHRASE));
    create_keys(source.clone(), &folder.env).unwrap();
    assert!(load_keyring(source.clone(), T0).is_ok());
    assert!(load_upstream_keys(source.clone(), T0).is_ok());
    for purpose in [KeyPurpose::Tokens, KeyPurpose::Assertion, KeyPurpose::Encryption] {
        for file in attacker.files_of(purpose) {
            let planted = purpose.folder(&folder.dir).join(file.file_name().unwrap());
            fs::copy(&file, &planted).unwrap();
            let loaded = match purpose {
                KeyPurpose::Tokens => load_keyring(source.clone(), T0).err(),
                _ => load_upstream_keys(source.clone(), T0).err(),
            };
            let error = loaded.unwrap();
            assert!(matches!(error, KeyFileError::PlainKey { .. }), "{error}");
            let text = error.to_string();
            assert!(text.contains(planted.to_str().unwrap()), "{text}");
            assert!(text.contains("passerelle keys encrypt") && text.contains("remove"), "{text}");
            fs::remove_file(planted).unwrap();
        }
    }
    assert!(load_keyring(source, T0).is_ok());
}

/// A file that names no device is refused where all keys are in one: the public JWK of a key in a
/// device is no private key.
#[test]
fn a_planted_plain_key_file_is_refused_without_a_passphrase_too() {
    let folder = Folder::with_keys();
    let error = load_keyring(refusing(KeyFolder::from(&folder.dir)), T0).unwrap_err();
    assert!(matches!(error, KeyFileError::PlainKey { .. }), "{error}");
    let empty = Folder::empty();
    let error = create_keys(refusing(KeyFolder::from(&empty.dir)), &empty.env).unwrap_err();
    assert!(matches!(error, KeyFileError::NoEncryption { .. }), "{error}");
    assert!(empty.files().is_empty());
}

#[test]
fn the_keys_of_a_folder_are_encrypted_in_their_files() {
    let folder = Folder::with_keys();
    let before = list_keys(&folder.dir, T0).unwrap();
    let source = refusing(with_passphrase(&folder, PASSPHRASE));
    assert_eq!(encrypt_keys(&source).unwrap().len(), 6);
    assert_eq!(count_plaintext_keys(&folder.dir), 0);
    assert_eq!(list_keys(source.clone(), T0).unwrap(), before);
    assert!(folder.files().iter().all(|file| mode(file) == 0o600));
    assert_eq!(encrypt_keys(&source).unwrap(), [""; 0].map(PathBuf::from));
    let error = encrypt_keys(&KeyFolder::from(&folder.dir)).unwrap_err();
    assert!(matches!(error, KeyFileError::NoPassphrase { .. }), "{error}");
}
