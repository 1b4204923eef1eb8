//! Tests which versions of a folder's files are active.

use std::cell::Cell;
use std::fs;

use super::*;
use passerelle_settings::SecretRef;
use passerelle_settings::schema_node::schema_for;

#[test]
fn unchanged_files_are_not_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one.toml");
    let (mut files, opened) = (FileSet::<String>::new(serde_json::Value::Null), Cell::new(0));
    let mut number = 0;
    let mut scan = |expected: &str| {
        number += 1;
        opened.set(0);
        let read = |path: &Path| {
            opened.set(opened.get() + 1);
            Ok(fs::read(path).unwrap())
        };
        let check = |source: &SourceFile| Ok(source.text_at("text").unwrap_or_default().to_owned());
        files.scan(
            Ok(vec![path.clone()]),
            &ScanContext { number, folder: folder.path() },
            read,
            check,
        );
        files.activate_pending(&mut BTreeMap::new());
        assert_eq!(
            files.active_versions().map(|version| version.content.as_str()).collect::<Vec<_>>(),
            [expected]
        );
        opened.get()
    };
    // Replaces the file by renaming, as many editors do.
    let write = |content: &str| {
        let draft = folder.path().join("draft");
        fs::write(&draft, format!("text = \"{content}\"")).unwrap();
        fs::rename(&draft, &path).unwrap();
    };
    write("a");
    assert_eq!([scan("a"), scan("a"), scan("a"), scan("a")], [1, 1, 0, 0]);
    write("b");
    assert_eq!([scan("b"), scan("b"), scan("b")], [1, 1, 0]);
}

#[test]
fn referenced_files_are_read_in_each_scan() {
    let folder = tempfile::tempdir().unwrap();
    let (path, secret) = (folder.path().join("one.toml"), folder.path().join("secret"));
    fs::write(&path, "text = { file = \"secret\" }").unwrap();
    let schema = serde_json::json!({ "properties": { "text": schema_for::<SecretRef>() } });
    let mut files = FileSet::<Vec<u8>>::new(schema);
    let checked = |files: &mut FileSet<Vec<u8>>, number| {
        let check = |_: &SourceFile| Ok(fs::read(&secret).unwrap());
        let read = |path: &Path| Ok(fs::read(path).unwrap());
        files.scan(
            Ok(vec![path.clone()]),
            &ScanContext { number, folder: folder.path() },
            read,
            check,
        );
        files.activate_pending(&mut BTreeMap::new());
        files.active_versions().next().unwrap().content.clone()
    };
    for (number, content) in ["one", "one", "one", "two", "two", "two", "xyz"].iter().enumerate() {
        fs::write(&secret, content).unwrap();
        assert_eq!(checked(&mut files, number as u64), content.as_bytes());
    }
}
