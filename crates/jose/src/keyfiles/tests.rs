//! Tests of the key folder: whole rotations with a manual clock, and every defect of a folder.

mod plain_keys;

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::sync::{Arc, LazyLock};

use serde_json::Value;

use super::*;
use crate::key_passphrase::KeyPassphrase;
use crate::keyring::{DEFAULT_ROTATION_LEAD, RETIRED_KEY_LIFETIME};
use crate::relying_party_keys::RETIRED_DECRYPTION_KEY_LIFETIME;
use crate::testing::sample_keys::T0;
use passerelle_protocol::digest;
use passerelle_protocol::ids::Secret;
use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};

mod interrupted;
mod schedule;

struct Folder {
    _root: tempfile::TempDir,
    dir: PathBuf,
    clock: Arc<ManualClock>,
    env: Env,
}

impl Folder {
    fn empty() -> Self {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("keys");
        let clock = Arc::new(ManualClock::at(T0));
        let env = Env::new(clock.clone(), Arc::new(SeededEntropy::new(1)));
        Self { _root: root, dir, clock, env }
    }

    /// The first keys, made once for all tests: RSA takes its time.
    fn with_keys() -> Self {
        static MADE: LazyLock<Folder> = LazyLock::new(|| {
            let folder = Folder::empty();
            create_keys(&folder.dir, &folder.env).unwrap();
            folder
        });
        let folder = Self::empty();
        for purpose in [KeyPurpose::Tokens, KeyPurpose::Assertion, KeyPurpose::Encryption] {
            let to = purpose.folder(&folder.dir);
            create_folder(&to).unwrap();
            for file in MADE.files_for(purpose) {
                fs::copy(&file, to.join(file.file_name().unwrap())).unwrap();
            }
        }
        folder
    }

    /// The files of the keys that sign tokens, and whatever lies beside them.
    fn files(&self) -> Vec<PathBuf> {
        self.files_for(KeyPurpose::Tokens)
    }

    fn files_for(&self, purpose: KeyPurpose) -> Vec<PathBuf> {
        let entries =
            fs::read_dir(purpose.folder(&self.dir)).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = entries.filter(|path| path.is_file()).collect();
        files.sort();
        files
    }

    fn rows(&self, purpose: KeyPurpose) -> Vec<KeyRow> {
        list_keys(&self.dir, self.env.now())
            .unwrap()
            .into_iter()
            .filter(|row| row.purpose == purpose)
            .collect()
    }

    fn states(&self, purpose: KeyPurpose) -> Vec<(&'static str, KeyState)> {
        self.rows(purpose).into_iter().map(|row| (row.alg, row.state)).collect()
    }

    fn start_time(&self, rotation: &KeyRotation, purpose: KeyPurpose) -> Timestamp {
        rotation.added.iter().find(|made| made.purpose == purpose).unwrap().from
    }

    fn error(&self) -> String {
        load_keyring(&self.dir, self.env.now()).unwrap_err().to_string()
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn first_keys_are_in_use_at_once_and_belong_to_their_owner_alone() {
    let folder = Folder::with_keys();
    load_keyring(&folder.dir, T0).unwrap();
    load_upstream_keys(&folder.dir, T0).unwrap();
    for purpose in [KeyPurpose::Tokens, KeyPurpose::Assertion, KeyPurpose::Encryption] {
        let expected = match purpose {
            KeyPurpose::Tokens | KeyPurpose::Assertion => ["ES256", "RS256"],
            KeyPurpose::Encryption => ["ECDH-ES", "RSA-OAEP-256, RSA-OAEP"],
        };
        assert_eq!(folder.states(purpose), expected.map(|alg| (alg, KeyState::Current)));
        assert_eq!(mode(&purpose.folder(&folder.dir)), 0o700);
        assert_eq!(
            folder.files_for(purpose).iter().map(|file| mode(file)).collect::<Vec<_>>(),
            [0o600, 0o600]
        );
    }
    assert!(matches!(create_keys(&folder.dir, &folder.env), Err(KeyFileError::Exists { .. })));
}

#[test]
fn folder_of_an_earlier_version_gets_what_it_lacks_and_keeps_what_it_has() {
    let folder = Folder::with_keys();
    for purpose in [KeyPurpose::Assertion, KeyPurpose::Encryption] {
        fs::remove_dir_all(purpose.folder(&folder.dir)).unwrap();
    }
    let before: Vec<_> = folder.files().iter().map(|file| fs::read(file).unwrap()).collect();
    let error = load_upstream_keys(&folder.dir, T0).unwrap_err().to_string();
    assert!(error.contains("assertion") && error.contains("passerelle keys new"), "{error}");
    assert_eq!(list_keys(&folder.dir, T0).unwrap().len(), 2, "it can be listed as it is");
    let made: Vec<_> = create_keys(&folder.dir, &folder.env)
        .unwrap()
        .into_iter()
        .map(|made| made.purpose)
        .collect();
    assert_eq!(
        made,
        [
            KeyPurpose::Assertion,
            KeyPurpose::Assertion,
            KeyPurpose::Encryption,
            KeyPurpose::Encryption
        ]
    );
    load_upstream_keys(&folder.dir, T0).unwrap();
    assert_eq!(
        folder.files().iter().map(|file| fs::read(file).unwrap()).collect::<Vec<_>>(),
        before
    );
    // And one key alone.
    let [lost, _] = folder.files_for(KeyPurpose::Encryption).try_into().unwrap();
    fs::remove_file(lost).unwrap();
    let error = load_upstream_keys(&folder.dir, T0).unwrap_err().to_string();
    assert!(
        error.contains("no key in this folder is for") && error.contains("passerelle keys new"),
        "{error}"
    );
    assert_eq!(create_keys(&folder.dir, &folder.env).unwrap().len(), 1);
    load_upstream_keys(&folder.dir, T0).unwrap();
}

#[test]
fn rotation_publishes_waits_signs_retires_and_removes() {
    let folder = Folder::with_keys();
    let first = list_keys(&folder.dir, T0).unwrap();
    folder.clock.advance(Duration::from_millis(10_500));
    let rotation = rotate_keys(&folder.dir, &folder.env, DEFAULT_ROTATION_LEAD).unwrap();
    let (turn, sealing_turn) = (
        folder.start_time(&rotation, KeyPurpose::Tokens),
        folder.start_time(&rotation, KeyPurpose::Encryption),
    );
    assert_eq!(turn, T0 + Duration::from_secs(1211), "not a moment before 20 minutes have passed");
    assert_eq!(folder.start_time(&rotation, KeyPurpose::Assertion), turn);
    for purpose in [KeyPurpose::Tokens, KeyPurpose::Assertion] {
        let rows = folder.rows(purpose);
        assert_eq!(
            rows.iter().map(|row| row.state).collect::<Vec<_>>()[2..],
            [KeyState::Next, KeyState::Next]
        );
        assert_eq!((rows[0].until, rows[2].until), (Some(turn), Some(turn)));
    }

    let refused =
        rotate_keys(&folder.dir, &folder.env, DEFAULT_ROTATION_LEAD).unwrap_err().to_string();
    assert!(refused.contains("in 1201 s"), "{refused}");

    folder.clock.advance(sealing_turn.since(folder.env.now()));
    let states = folder.states(KeyPurpose::Encryption);
    assert_eq!(states.iter().filter(|(_, state)| *state == KeyState::Current).count(), 2);
    assert_eq!(
        states.iter().filter(|(_, state)| matches!(state, KeyState::Retired { .. })).count(),
        2
    );

    folder.clock.advance(turn.since(folder.env.now()));
    let retired = KeyState::Retired { since: turn };
    for purpose in [KeyPurpose::Tokens, KeyPurpose::Assertion] {
        assert_eq!(folder.states(purpose).iter().filter(|(_, state)| *state == retired).count(), 2);
    }
    let ring = load_keyring(&folder.dir, folder.env.now()).unwrap();
    let current = &ring.current(SigningAlg::ES256, folder.env.now()).unwrap().kid;
    assert!(rotation.added.iter().any(|made| made.kid == *current));

    folder.clock.advance(RETIRED_KEY_LIFETIME + Duration::from_secs(1));
    let rotation = rotate_keys(&folder.dir, &folder.env, DEFAULT_ROTATION_LEAD).unwrap();
    let mut removed: Vec<_> = rotation.removed.into_iter().map(|key| key.kid).collect();
    let mut expected: Vec<_> = first.into_iter().map(|row| row.kid).collect();
    removed.sort();
    expected.sort();
    assert_eq!(removed, expected);
    for purpose in [KeyPurpose::Tokens, KeyPurpose::Assertion, KeyPurpose::Encryption] {
        assert_eq!(folder.files_for(purpose).len(), 4);
    }
}

#[test]
fn retired_encryption_key_is_kept_for_thirty_days() {
    let folder = Folder::with_keys();
    rotate_keys(&folder.dir, &folder.env, DEFAULT_ROTATION_LEAD).unwrap();
    folder.clock.advance(PUBLICATION_DELAY + RETIRED_DECRYPTION_KEY_LIFETIME);
    assert_eq!(
        rotate_keys(&folder.dir, &folder.env, DEFAULT_ROTATION_LEAD).unwrap().removed,
        Vec::<RemovedKey>::new()
    );
    assert_eq!(folder.files_for(KeyPurpose::Encryption).len(), 6);
}

#[test]
fn a_lost_key_is_replaced_without_changing_the_other() {
    let folder = Folder::with_keys();
    let [ec, rsa] = folder.files().try_into().unwrap();
    fs::remove_file(&rsa).unwrap();
    let error = folder.error();
    assert!(error.contains("no RS256 key") && error.contains("passerelle keys new"), "{error}");
    assert_eq!(create_keys(&folder.dir, &folder.env).unwrap().len(), 1);
    assert!(load_keyring(&folder.dir, T0).is_ok() && ec.exists());
}

#[test]
fn folder_without_keys_names_the_command() {
    let folder = Folder::empty();
    assert!(folder.error().contains("passerelle keys new"));
    fs::create_dir(&folder.dir).unwrap();
    assert!(folder.error().contains("no ES256 key"));
}

#[test]
fn key_file_that_others_can_read_is_refused() {
    let folder = Folder::with_keys();
    let file = folder.files().remove(0);
    for exposed in [0o644, 0o604, 0o620, 0o666] {
        fs::set_permissions(&file, fs::Permissions::from_mode(exposed)).unwrap();
        let error = folder.error();
        assert!(error.contains("chmod 600") && error.contains(file.to_str().unwrap()), "{error}");
    }
}

#[test]
fn damaged_file_is_named_and_its_secret_is_not() {
    let folder = Folder::with_keys();
    let file = folder.files().remove(0);
    let good: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let secret = good["jwk"]["d"].as_str().unwrap().to_owned();
    let change = |edit: &dyn Fn(&mut Value)| {
        let mut bad = good.clone();
        edit(&mut bad);
        bad.to_string()
    };
    let cases = [
        ("{".to_owned(), "not a JSON object"),
        (good.to_string().replacen("\"jwk\"", "\"created\":1,\"jwk\"", 1), "repeated members"),
        (change(&|bad| bad["created"] = "yesterday".into()), "`created`"),
        (change(&|bad| bad["signs_from"] = (-1).into()), "`signs_from`"),
        (change(&|bad| bad["jwk"] = secret.clone().into()), "`jwk`"),
        (change(&|bad| bad["note"] = 1.into()), "has members that"),
        (change(&|bad| bad["jwk"]["crv"] = "P-521".into()), "P-256"),
        (change(&|bad| bad["jwk"]["kid"] = "x".into()), "thumbprint"),
    ];
    for (text, expected) in cases {
        fs::write(&file, text).unwrap();
        let error = folder.error();
        assert!(
            error.contains(expected) && error.contains(file.to_str().unwrap()),
            "{expected}: {error}"
        );
        assert!(!error.contains(&secret));
    }
}

#[test]
fn half_written_and_foreign_files_are_not_keys() {
    let folder = Folder::with_keys();
    fs::write(folder.dir.join(".es256-x.json.tmp"), "{").unwrap();
    fs::write(folder.dir.join(".hidden.json"), "{").unwrap();
    fs::write(folder.dir.join("README"), "keys").unwrap();
    assert!(load_keyring(&folder.dir, T0).is_ok());
}

#[test]
fn copy_of_a_key_is_refused_rather_than_published_twice() {
    let folder = Folder::with_keys();
    let file = folder.files().remove(0);
    fs::copy(&file, folder.dir.join("backup.json")).unwrap();
    let error = folder.error();
    assert!(
        error.contains("backup.json")
            && error.contains(file.file_name().unwrap().to_str().unwrap()),
        "{error}"
    );
}

#[test]
fn a_subject_key_is_created_once_and_never_replaced() {
    let folder = Folder::empty();
    let path = folder.dir.join("subject.key");
    assert_eq!(create_subject_key(&path, &folder.env).unwrap(), SubjectKeyOutcome::Created);
    let key = fs::read_to_string(&path).unwrap();
    assert_eq!((digest::from_base64url(&key).unwrap().len(), mode(&path)), (32, 0o600));
    assert_eq!(create_subject_key(&path, &folder.env).unwrap(), SubjectKeyOutcome::AlreadyExists);
    assert_eq!(fs::read_to_string(&path).unwrap(), key);
    assert_eq!(folder.files().len(), 1, "no temporary file stays");
}

#[test]
fn run_that_was_cut_short_is_named() {
    let folder = Folder::empty();
    fs::create_dir(&folder.dir).unwrap();
    fs::write(folder.dir.join(".subject.key.tmp"), "").unwrap();
    let error =
        create_subject_key(&folder.dir.join("subject.key"), &folder.env).unwrap_err().to_string();
    assert!(error.contains("remove") && error.contains(".subject.key.tmp"), "{error}");
    assert!(folder.dir.join(".subject.key.tmp").exists());
}

/// A folder with a passphrase, which reads what `folder` has.
fn with_passphrase<'a>(folder: &'a Folder, passphrase: &str) -> KeyFolder<'a> {
    let passphrase = KeyPassphrase::new(Secret::new(passphrase.to_owned()));
    KeyFolder { passphrase: Some(Arc::new(passphrase)), ..KeyFolder::from(&folder.dir) }
}

const PASSPHRASE: &str = "correct horse battery staple";

#[test]
fn a_copied_key_folder_is_useless_without_the_passphrase() {
    let folder = Folder::empty();
    let source = with_passphrase(&folder, PASSPHRASE);
    create_keys(source.clone(), &folder.env).unwrap();
    assert_eq!(count_plaintext_keys(&folder.dir), 0);
    let purposes = [KeyPurpose::Tokens, KeyPurpose::Assertion, KeyPurpose::Encryption];
    let files: Vec<_> = purposes.iter().flat_map(|purpose| folder.files_for(*purpose)).collect();
    assert_eq!(files.len(), 6);
    for file in &files {
        let file: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
        assert!(file.get("jwk").is_none() && file["encrypted_jwk"].is_string(), "{file}");
    }
    assert!(load_keyring(source.clone(), T0).is_ok() && load_upstream_keys(source, T0).is_ok());

    let error = load_keyring(&folder.dir, T0).unwrap_err();
    assert!(matches!(error, KeyFileError::NoPassphrase { .. }), "{error}");
    let error = load_keyring(with_passphrase(&folder, "another passphrase of it"), T0).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, KeyFileError::Undecryptable { .. }), "{text}");
    assert!(text.contains("key_passphrase") && !text.contains("another passphrase of"), "{text}");
}

#[test]
fn a_rotation_with_a_passphrase_moves_a_folder_and_reads_the_former_keys() {
    let folder = Folder::with_keys();
    assert_eq!(count_plaintext_keys(&folder.dir), 6);
    let source = with_passphrase(&folder, PASSPHRASE);
    rotate_keys(source.clone(), &folder.env, Duration::ZERO).unwrap();
    assert_eq!(count_plaintext_keys(&folder.dir), 6, "they are retired, and still verify");
    assert_eq!(list_keys(source, T0).unwrap().len(), 12);
}

#[test]
fn a_key_file_with_a_plain_and_an_encrypted_key_is_refused() {
    let folder = Folder::with_keys();
    let path = folder.files().remove(0);
    let mut file: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    file["encrypted_jwk"] = "e30.e30.e30.e30.e30".into();
    fs::write(&path, file.to_string()).unwrap();
    let error = load_keyring(with_passphrase(&folder, PASSPHRASE), T0).unwrap_err();
    assert!(matches!(error, KeyFileError::Malformed { .. }), "{error}");
}
