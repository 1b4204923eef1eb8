//! Keys that are created while a device or the disk fails.

use std::sync::Mutex;

use super::*;
use crate::device_key_uri::DeviceKeyUri;
use crate::key_device::{
    DeviceKeyGenerator, DeviceKeySpec, DeviceKeyUsage, GeneratedDeviceKey, KeyDeviceError,
    KeyGenerationError, KeyLocation, UnusedKeyDevice,
};
use crate::key_type::KeyType;
use crate::keyfiles::new_key::remove_key_files;
use crate::pkcs11_uri::Pkcs11Uri;
use crate::signing_key::{self, KeyError};

const PURPOSES: [KeyPurpose; 2] = [KeyPurpose::Tokens, KeyPurpose::Assertion];

/// Called with each new key, in order.
type Hook = Box<dyn Fn(&[GeneratedDeviceKey]) -> Result<(), KeyGenerationError> + Send + Sync>;

/// A device that generates real keys, and fails as the hook says.
struct HookedGenerator {
    generated: Mutex<Vec<GeneratedDeviceKey>>,
    hook: Hook,
}

impl HookedGenerator {
    fn new(
        hook: impl Fn(&[GeneratedDeviceKey]) -> Result<(), KeyGenerationError> + Send + Sync + 'static,
    ) -> Self {
        Self { generated: Mutex::default(), hook: Box::new(hook) }
    }

    fn uris(&self) -> Vec<DeviceKeyUri> {
        self.generated.lock().unwrap().iter().map(|key| key.uri.clone()).collect()
    }

    fn key_folder<'a>(&'a self, folder: &'a Path) -> KeyFolder<'a> {
        KeyFolder {
            folder,
            passphrase: None,
            refuses_plain_keys: false,
            devices: vec![Arc::new(UnusedKeyDevice(KeyLocation::Pkcs11))],
            new_keys: vec![NewDeviceKeys { generator: self, purposes: &PURPOSES }],
        }
    }
}

impl DeviceKeyGenerator for HookedGenerator {
    fn supports(&self, _: DeviceKeyUsage, _: KeyType) -> bool {
        true
    }

    fn generate(&self, spec: &DeviceKeySpec) -> Result<GeneratedDeviceKey, KeyGenerationError> {
        let private = signing_key::generate_ephemeral(spec.key_type.signing_alg()).unwrap();
        let (_, public) = signing_key::public_half(private.reveal()).unwrap();
        let uri = DeviceKeyUri::Pkcs11(Pkcs11Uri::from_id(spec.id.clone()));
        let key = GeneratedDeviceKey { uri, public, algorithms: Vec::new() };
        let mut generated = self.generated.lock().unwrap();
        generated.push(key.clone());
        (self.hook)(&generated)?;
        Ok(key)
    }
}

/// Returns every path below a folder.
fn paths_below(folder: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            paths.extend(paths_below(&path));
        }
        paths.push(path);
    }
    paths.sort();
    paths
}

/// Checks that the error names all keys of the device, and how to remove them.
fn assert_names_orphans(error: &KeyFileError, uris: &[DeviceKeyUri]) {
    let KeyFileError::Orphaned { uris: named, .. } = error else { panic!("{error}") };
    assert_eq!(named, uris);
    let text = error.to_string();
    for uri in uris {
        assert!(text.contains(&uri.to_string()), "{text}");
        assert!(text.contains(&uri.removal_command()), "{text}");
    }
}

#[test]
fn a_device_that_fails_in_the_middle_of_a_rotation_changes_no_file_and_its_keys_are_named() {
    let folder = Folder::with_keys();
    let before = paths_below(&folder.dir);
    let away = KeyDeviceError::Unavailable("it is away".to_owned());
    let failure = away.clone();
    let device = HookedGenerator::new(move |keys| match keys {
        // The device generated the third key before it failed.
        [.., last] if keys.len() == 3 => {
            Err(KeyGenerationError { error: failure.clone(), uri: Some(last.uri.clone()) })
        }
        _ => Ok(()),
    });
    let lead = DEFAULT_ROTATION_LEAD;
    let error = rotate_keys(device.key_folder(&folder.dir), &folder.env, lead).unwrap_err();
    assert_eq!(device.uris().len(), 3);
    assert_names_orphans(&error, &device.uris());
    assert!(error.to_string().contains(&away.to_string()), "{error}");
    assert_eq!(paths_below(&folder.dir), before);

    let working = HookedGenerator::new(|_| Ok(()));
    rotate_keys(working.key_folder(&folder.dir), &folder.env, lead).unwrap();
}

#[test]
fn a_file_that_cant_get_its_name_leaves_no_other_new_key_file() {
    let folder = Folder::with_keys();
    let before = paths_below(&folder.dir);
    let dir = folder.dir.clone();
    let obstacle = Arc::new(Mutex::new(PathBuf::new()));
    let created = Arc::clone(&obstacle);
    // A folder takes the name of the fourth key file, after the rotation has read the key folder.
    let device = HookedGenerator::new(move |keys| {
        if let [_, _, _, fourth] = keys {
            let kid = signing_key::thumbprint(&fourth.public);
            let path = KeyPurpose::Assertion.folder(&dir).join(signing_file_name("RS256", &kid));
            fs::create_dir(&path).unwrap();
            *created.lock().unwrap() = path;
        }
        Ok(())
    });
    let lead = DEFAULT_ROTATION_LEAD;
    let error = rotate_keys(device.key_folder(&folder.dir), &folder.env, lead).unwrap_err();
    assert_names_orphans(&error, &device.uris());
    let obstacle = obstacle.lock().unwrap().clone();
    assert!(error.to_string().contains(obstacle.to_str().unwrap()), "{error}");
    fs::remove_dir(&obstacle).unwrap();
    assert_eq!(paths_below(&folder.dir), before);
}

#[test]
fn a_new_key_file_that_cant_be_removed_after_a_failure_is_named() {
    let folder = Folder::with_keys();
    let [key, other] = folder.files().try_into().unwrap();
    let below_a_file = other.join("key.json");
    let failure = || KeyFileError::Generation(KeyError::Generation);
    let error = remove_key_files(vec![&key, &below_a_file], failure());
    let KeyFileError::NotRemoved { paths, .. } = &error else { panic!("{error}") };
    assert_eq!(*paths, [below_a_file.as_path()]);
    assert!(error.to_string().contains(below_a_file.to_str().unwrap()), "{error}");
    assert!(error.to_string().contains(&failure().to_string()), "{error}");
    assert!(!key.exists());
    let error = remove_key_files(vec![&key], failure());
    assert!(matches!(error, KeyFileError::Generation(_)), "{error}");
}

#[test]
fn a_retired_key_that_cant_be_removed_hides_neither_new_nor_removed_keys() {
    let folder = Folder::with_keys();
    let [stuck, _] = folder.files().try_into().unwrap();
    rotate_keys(&folder.dir, &folder.env, DEFAULT_ROTATION_LEAD).unwrap();
    folder.clock.advance(DEFAULT_ROTATION_LEAD + RETIRED_KEY_LIFETIME + Duration::from_secs(1));
    let file = stuck.clone();
    // A folder takes the name of the retired key after the rotation has read the key folder.
    let device = HookedGenerator::new(move |keys| {
        if keys.len() == 1 {
            fs::remove_file(&file).unwrap();
            fs::create_dir(&file).unwrap();
        }
        Ok(())
    });
    let rotation =
        rotate_keys(device.key_folder(&folder.dir), &folder.env, DEFAULT_ROTATION_LEAD).unwrap();
    assert_eq!(rotation.not_removed, [(stuck, io::ErrorKind::IsADirectory)]);
    assert_eq!((rotation.added.len(), rotation.removed.len()), (6, 5));
}

#[test]
fn a_file_that_cant_be_written_leaves_no_other_new_key_file() {
    let folder = Folder::with_keys();
    let before = paths_below(&folder.dir);
    let dir = folder.dir.clone();
    // Another run has the temporary file of the second key.
    let device = HookedGenerator::new(move |keys| {
        if let [_, second] = keys {
            let kid = signing_key::thumbprint(&second.public);
            fs::write(dir.join(format!(".{}.tmp", signing_file_name("RS256", &kid))), "").unwrap();
        }
        Ok(())
    });
    let lead = DEFAULT_ROTATION_LEAD;
    let error = rotate_keys(device.key_folder(&folder.dir), &folder.env, lead).unwrap_err();
    assert_names_orphans(&error, &device.uris());
    assert!(error.to_string().contains("another run is writing this file"), "{error}");
    let after = paths_below(&folder.dir);
    assert_eq!(after.len(), before.len() + 1, "the file of the other run stays: {after:?}");
}
