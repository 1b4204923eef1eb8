//! Rotations by schedule: when they are due, and what two runs or a crash leave.

use std::collections::BTreeSet;

use super::*;

const PERIOD: Duration = Duration::from_secs(90 * 24 * 3600);

impl Folder {
    fn rotate_due(&self) -> Result<Option<KeyRotation>, KeyFileError> {
        rotate_due_keys(&self.dir, &self.env, DEFAULT_ROTATION_LEAD, PERIOD)
    }

    /// The keys that sign tokens now.
    fn current_kids(&self) -> BTreeSet<String> {
        let ring = load_keyring(&self.dir, self.env.now()).unwrap();
        ring.current_keys(self.env.now()).map(|key| key.kid.clone()).collect()
    }

    fn due_at(&self) -> Timestamp {
        rotation_due_at(&list_keys(&self.dir, self.env.now()).unwrap(), PERIOD).unwrap()
    }
}

#[test]
fn keys_are_rotated_when_they_are_as_old_as_the_period_and_the_old_ones_sign_until_the_lead_ends() {
    let folder = Folder::with_keys();
    let mut age = Duration::ZERO;
    for _ in 0..2 {
        folder.clock.advance(PERIOD - age - Duration::from_secs(1));
        assert_eq!(folder.rotate_due().unwrap(), None);
        folder.clock.advance(Duration::from_secs(1));
        assert_eq!(folder.due_at(), folder.env.now());
        let before = folder.current_kids();
        assert_eq!(folder.rotate_due().unwrap().unwrap().added.len(), 6);
        assert_eq!(folder.due_at(), folder.env.now() + PERIOD);
        folder.clock.advance(DEFAULT_ROTATION_LEAD - Duration::from_secs(1));
        assert_eq!(folder.current_kids(), before);
        assert_eq!(folder.rotate_due().unwrap(), None, "the next keys don't sign yet");
        folder.clock.advance(Duration::from_secs(1));
        assert!(folder.current_kids().is_disjoint(&before));
        age = DEFAULT_ROTATION_LEAD;
    }
}

/// Attack on availability: two rotations at once would publish two generations of keys.
#[test]
fn a_second_rotation_of_a_folder_is_refused_while_one_runs() {
    let folder = Folder::with_keys();
    folder.clock.advance(PERIOD);
    let before = folder.files();
    let running = lock_folder(&folder.dir).unwrap();
    for error in [
        folder.rotate_due().unwrap_err(),
        rotate_keys(&folder.dir, &folder.env, DEFAULT_ROTATION_LEAD).unwrap_err(),
    ] {
        assert!(matches!(error, KeyFileError::Rotating { .. }), "{error}");
    }
    assert_eq!(folder.files(), before);
    drop(running);
    assert!(folder.rotate_due().unwrap().is_some());
}

/// Fault: the process ends after it gave some key files their names, and wrote half of another.
#[test]
fn a_rotation_that_a_crash_ended_loses_no_key_and_is_done_again_when_its_keys_are_in_use() {
    let folder = Folder::with_keys();
    folder.clock.advance(PERIOD);
    let rotation = folder.rotate_due().unwrap().unwrap();
    let [first, lost @ ..] = rotation.added.as_slice() else { panic!("{rotation:?}") };
    for key in lost {
        let files = folder.files_for(key.purpose);
        let file = files.iter().find(|file| file.to_str().unwrap().contains(&key.kid)).unwrap();
        let name = file.file_name().unwrap().to_str().unwrap();
        fs::write(file.with_file_name(format!(".{name}.tmp")), "{\"created\":").unwrap();
        fs::remove_file(file).unwrap();
    }
    assert_eq!(folder.rotate_due().unwrap(), None, "{} is not in use yet", first.kid);
    assert!(folder.due_at() <= folder.env.now(), "the alert fires if it stays so");
    assert_eq!(folder.current_kids().len(), 2);
    folder.clock.advance(DEFAULT_ROTATION_LEAD);
    assert!(folder.current_kids().contains(&first.kid));
    assert_eq!(folder.rotate_due().unwrap().unwrap().added.len(), 6);
}
