//! The key folder's tests: whole rotations by a hand-set clock, and every damage a folder can take.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use super::*;
use crate::digest;
use crate::env::{HandClock, SeededEntropy};
use crate::token::keyring::LEAD;
use crate::token::keyring::tests::T0;

struct Folder {
    _root: tempfile::TempDir,
    dir: PathBuf,
    clock: Arc<HandClock>,
    env: Env,
}

impl Folder {
    fn empty() -> Self {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("keys");
        let clock = Arc::new(HandClock::at(T0));
        let env = Env::new(clock.clone(), Arc::new(SeededEntropy::new(1)));
        Self { _root: root, dir, clock, env }
    }

    fn with_keys() -> Self {
        let folder = Self::empty();
        create(&folder.dir, &folder.env).unwrap();
        folder
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<_> = fs::read_dir(&self.dir).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    }

    fn states(&self) -> Vec<(SigningAlg, KeyState)> {
        list(&self.dir, self.env.now()).unwrap().into_iter().map(|row| (row.alg, row.state)).collect()
    }

    fn fault(&self) -> String {
        load(&self.dir, self.env.now()).unwrap_err().to_string()
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn first_keys_sign_at_once_and_belong_to_their_owner_alone() {
    let folder = Folder::with_keys();
    load(&folder.dir, T0).unwrap();
    assert_eq!(folder.states(), [(SigningAlg::ES256, KeyState::Current), (SigningAlg::RS256, KeyState::Current)]);
    assert_eq!(mode(&folder.dir), 0o700);
    assert_eq!(folder.files().iter().map(|file| mode(file)).collect::<Vec<_>>(), [0o600, 0o600]);
    assert!(matches!(create(&folder.dir, &folder.env), Err(KeyFileFault::Exists { .. })));
}

#[test]
fn rotation_publishes_waits_signs_retires_and_removes() {
    let folder = Folder::with_keys();
    let first = list(&folder.dir, T0).unwrap();
    folder.clock.advance(Duration::from_millis(10_500));
    let rotation = rotate(&folder.dir, &folder.env, LEAD).unwrap();
    assert_eq!(rotation.signs_from, T0 + Duration::from_secs(1211), "not a moment before 20 minutes have passed");
    let rows = list(&folder.dir, folder.env.now()).unwrap();
    assert_eq!(rows.iter().map(|row| row.state).collect::<Vec<_>>()[2..], [KeyState::Next, KeyState::Next]);
    assert_eq!(rows[0].until, Some(rotation.signs_from));
    assert_eq!(rows[2].until, Some(rotation.signs_from));

    let refused = rotate(&folder.dir, &folder.env, LEAD).unwrap_err().to_string();
    assert!(refused.contains("in 1201 s"), "{refused}");

    folder.clock.advance(Duration::from_secs(1201));
    let retired = KeyState::Retired { since: rotation.signs_from };
    assert_eq!(folder.states().iter().filter(|(_, state)| *state == retired).count(), 2);
    let ring = load(&folder.dir, folder.env.now()).unwrap();
    assert!(rotation.added.contains(&ring.current(SigningAlg::ES256, folder.env.now()).unwrap().kid));

    folder.clock.advance(HINT_LIFE + Duration::from_secs(1));
    let second = rotate(&folder.dir, &folder.env, LEAD).unwrap();
    assert_eq!(second.removed, first.into_iter().map(|row| row.kid).collect::<Vec<_>>());
    assert_eq!(folder.files().len(), 4);
}

#[test]
fn lost_key_is_made_again_without_touching_the_other() {
    let folder = Folder::with_keys();
    let [ec, rsa] = folder.files().try_into().unwrap();
    fs::remove_file(&rsa).unwrap();
    let fault = folder.fault();
    assert!(fault.contains("no RS256 key") && fault.contains("passerelle keys new"), "{fault}");
    assert_eq!(create(&folder.dir, &folder.env).unwrap().len(), 1);
    assert!(load(&folder.dir, T0).is_ok() && ec.exists());
}

#[test]
fn folder_without_keys_names_the_command() {
    let folder = Folder::empty();
    assert!(folder.fault().contains("passerelle keys new"));
    fs::create_dir(&folder.dir).unwrap();
    assert!(folder.fault().contains("no ES256 key"));
}

#[test]
fn key_file_that_others_can_read_is_refused() {
    let folder = Folder::with_keys();
    let file = folder.files().remove(0);
    for exposed in [0o644, 0o604, 0o620, 0o666] {
        fs::set_permissions(&file, fs::Permissions::from_mode(exposed)).unwrap();
        let fault = folder.fault();
        assert!(fault.contains("chmod 600") && fault.contains(file.to_str().unwrap()), "{fault}");
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
        (good.to_string().replacen("\"jwk\"", "\"created\":1,\"jwk\"", 1), "stands once"),
        (change(&|bad| bad["created"] = "yesterday".into()), "`created`"),
        (change(&|bad| bad["signs_from"] = (-1).into()), "`signs_from`"),
        (change(&|bad| bad["jwk"] = secret.clone().into()), "`jwk`"),
        (change(&|bad| bad["note"] = 1.into()), "members other than"),
        (change(&|bad| bad["jwk"]["crv"] = "P-521".into()), "P-256"),
        (change(&|bad| bad["jwk"]["kid"] = "x".into()), "thumbprint"),
    ];
    for (text, expected) in cases {
        fs::write(&file, text).unwrap();
        let fault = folder.fault();
        assert!(fault.contains(expected) && fault.contains(file.to_str().unwrap()), "{expected}: {fault}");
        assert!(!fault.contains(&secret));
    }
}

#[test]
fn half_written_and_foreign_files_are_not_keys() {
    let folder = Folder::with_keys();
    fs::write(folder.dir.join(".es256-x.json.tmp"), "{").unwrap();
    fs::write(folder.dir.join(".hidden.json"), "{").unwrap();
    fs::write(folder.dir.join("README"), "keys").unwrap();
    assert!(load(&folder.dir, T0).is_ok());
}

#[test]
fn copy_of_a_key_is_refused_rather_than_published_twice() {
    let folder = Folder::with_keys();
    let file = folder.files().remove(0);
    fs::copy(&file, folder.dir.join("backup.json")).unwrap();
    let fault = folder.fault();
    assert!(fault.contains("backup.json") && fault.contains(file.file_name().unwrap().to_str().unwrap()), "{fault}");
}

#[test]
fn subject_key_is_made_once_and_never_replaced() {
    let folder = Folder::empty();
    let path = folder.dir.join("subject.key");
    assert_eq!(create_subject_key(&path, &folder.env).unwrap(), SubjectKey::Created);
    let key = fs::read_to_string(&path).unwrap();
    assert_eq!((digest::from_base64url(&key).unwrap().len(), mode(&path)), (32, 0o600));
    assert_eq!(create_subject_key(&path, &folder.env).unwrap(), SubjectKey::Kept);
    assert_eq!(fs::read_to_string(&path).unwrap(), key);
    assert_eq!(folder.files().len(), 1, "no temporary file stays");
}

#[test]
fn run_that_was_cut_short_is_named() {
    let folder = Folder::empty();
    fs::create_dir(&folder.dir).unwrap();
    fs::write(folder.dir.join(".subject.key.tmp"), "").unwrap();
    let fault = create_subject_key(&folder.dir.join("subject.key"), &folder.env).unwrap_err().to_string();
    assert!(fault.contains("remove") && fault.contains(".subject.key.tmp"), "{fault}");
    assert!(folder.dir.join(".subject.key.tmp").exists());
}
