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
        for file in attacker.files_for(purpose) {
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
    assert_eq!(encrypt_keys(&source, &mut |_| true).unwrap().len(), 6);
    assert_eq!(count_plaintext_keys(&folder.dir), 0);
    assert_eq!(list_keys(source.clone(), T0).unwrap(), before);
    assert!(folder.files().iter().all(|file| mode(file) == 0o600));
    assert_eq!(encrypt_keys(&source, &mut |_| true).unwrap(), [""; 0].map(PathBuf::from));
    let error = encrypt_keys(&KeyFolder::from(&folder.dir), &mut |_| true).unwrap_err();
    assert!(matches!(error, KeyFileError::NothingToEncryptWith), "{error}");
}

#[test]
fn a_stopped_encryption_leaves_complete_files_and_is_continued_by_the_next() {
    let folder = Folder::with_keys();
    let before = list_keys(&folder.dir, T0).unwrap();
    let source = with_passphrase(&folder, PASSPHRASE);
    let mut remaining = 2;
    let mut proceed = |_: &Path| {
        remaining -= 1;
        remaining > 0
    };
    assert_eq!(encrypt_keys(&source, &mut proceed).unwrap().len(), 2);
    assert_eq!(count_plaintext_keys(&folder.dir), before.len() - 2);
    assert_eq!(list_keys(source.clone(), T0).unwrap(), before);
    assert_eq!(encrypt_keys(&source, &mut |_| true).unwrap().len(), before.len() - 2);
    assert_eq!(list_keys(source, T0).unwrap(), before);
}

/// Root encrypts the keys of the hub's user: the hub must be able to read them afterwards.
#[test]
fn an_encrypted_file_keeps_its_owner_group_and_mode() {
    let folder = Folder::with_keys();
    let file = folder.files().remove(0);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o400)).unwrap();
    // Only root can do so; for another user the owner stays the same.
    let _changed = chown(&file, Some(4711), Some(4712));
    let owner = |file: &Path| fs::metadata(file).map(|file| (file.uid(), file.gid())).unwrap();
    let before = owner(&file);
    encrypt_keys(&with_passphrase(&folder, PASSPHRASE), &mut |_| true).unwrap();
    assert_eq!((owner(&file), mode(&file)), (before, 0o400));
    assert_eq!(count_plaintext_keys(&folder.dir), 0);
}

#[test]
fn a_new_key_belongs_to_the_owner_of_its_folder() {
    let folder = Folder::with_keys();
    let _changed = chown(&folder.dir, Some(4711), Some(4712));
    let owner = |path: &Path| fs::metadata(path).map(|file| (file.uid(), file.gid())).unwrap();
    let before = folder.files();
    rotate_keys(&folder.dir, &folder.env, DEFAULT_ROTATION_LEAD).unwrap();
    let new: Vec<_> = folder.files().into_iter().filter(|file| !before.contains(file)).collect();
    assert_eq!(new.len(), 2);
    for file in new {
        assert_eq!((owner(&file), mode(&file)), (owner(&folder.dir), 0o600));
    }
}

/// A link whose target stayed as it was would leave the private key readable.
#[test]
fn a_key_behind_a_link_is_encrypted_in_the_file_itself() {
    let folder = Folder::with_keys();
    let link = folder.files().remove(0);
    let target = folder.dir.join("..data");
    fs::create_dir(&target).unwrap();
    let target = target.join("key");
    fs::rename(&link, &target).unwrap();
    symlink(&target, &link).unwrap();
    encrypt_keys(&with_passphrase(&folder, PASSPHRASE), &mut |_| true).unwrap();
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert!(fs::read_to_string(&target).unwrap().contains("encrypted_jwk"));
}
