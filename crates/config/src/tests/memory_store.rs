//! Tests `[store.memory]`.

use std::any::Any;
use std::path::Path;

use super::stores::{KEY, folder_with};
use passerelle_store::kind::StoreSettings;
use passerelle_store::memory::MemorySettings;

#[test]
fn a_relative_snapshot_path_is_in_the_configuration_folder() {
    for (written, wanted) in
        [("state/store.snapshot", None), ("/var/lib/hub/s", Some(Path::new("/var/lib/hub/s")))]
    {
        let folder = folder_with(&format!(
            "[store.memory]\nsnapshot = \"{written}\"\nencryption_keys = [{{ env = \"SEAL\" }}, {{ env = \"OTHER\" }}]"
        ));
        let loaded = folder.loaded();
        let settings = loaded.store.as_ref().unwrap().settings::<Box<dyn StoreSettings>>().unwrap();
        let memory: &MemorySettings = (settings.as_ref() as &dyn Any).downcast_ref().unwrap();
        assert_eq!(
            memory.snapshot,
            wanted.map_or_else(|| folder.path().join(written), Path::to_owned)
        );
        assert_eq!(memory.encryption_keys.len(), 2);
        assert!(!format!("{loaded:?}").contains(KEY));
    }
}

#[test]
fn each_bad_snapshot_is_named_with_its_fix() {
    let seal = |keys: &str| format!("[store.memory]\nsnapshot = \"s\"\nencryption_keys = [{keys}]");
    let file = |path: &str| {
        format!("[store.memory]\nsnapshot = \"{path}\"\nencryption_keys = [{{ env = \"SEAL\" }}]")
    };
    let rows = [
        (file(""), "store.memory.snapshot", "state/store.snapshot"),
        (file("state/"), "store.memory.snapshot", "is not the path of a file"),
        (file(".."), "store.memory.snapshot", "is not the path of a file"),
        ("[store.memory]\nsnapshot = \"s\"".to_owned(), "store.memory.encryption_keys", "missing"),
        ("[store.memory]\nencryption_keys = []".to_owned(), "store.memory.snapshot", "missing"),
        (seal(""), "store.memory.encryption_keys", "32 random characters"),
        (seal("{ env = \"SHORT\" }"), "store.memory.encryption_keys[0]", "too short"),
        (
            seal("{ env = \"SEAL\" }, { env = \"SEAL\" }"),
            "store.memory.encryption_keys[1]",
            "same key",
        ),
    ];
    for (tables, key, word) in rows {
        let (file, named, text) = folder_with(&tables).problem();
        assert_eq!((file.as_str(), named.as_str()), ("passerelle.toml", key), "{tables}: {text}");
        assert!(text.contains(word), "{tables}: {text}");
    }
}
