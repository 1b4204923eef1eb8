//! Records as a release wrote them, which every release after it must read (docs/redis.md, "Upgrades").
//!
//! `tests/fixtures/records-1.json` holds them as they lay in a server, sealed by a key that is given there, and beside it what
//! each layer had written. It is never written anew. When the format changes, the next one gets a file of its own:
//! `cargo test --lib write_the_records_of_this_release -- --ignored`, which refuses to touch one that is there.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::tests::{fresh_prefix, only_key, shared, store_at};
use super::super::*;
use crate::store::conformance::ROOMY;
use crate::store::{Draft, Family, Replaced, Store, Taken};

const FIRST: &str = include_str!("../../../../tests/fixtures/records-1.json");
const WRITTEN: Timestamp = Timestamp::from_seconds(1_790_000_000);
const EXPIRES: Timestamp = Timestamp::from_seconds(1_790_000_600);
const SEAL_KEY: &str = "a key that seals nothing but this fixture";

/// What a layer writes, and under which name.
#[derive(Serialize, Deserialize)]
pub(crate) struct Sample {
    pub what: String,
    /// The letter of its kind.
    pub kind: char,
    pub name: String,
    /// Null: no bytes at all.
    pub value: Value,
    pub families: Vec<String>,
    /// It was taken, and this stands in its place.
    pub tombstone: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Row {
    #[serde(flatten)]
    sample: Sample,
    version: u64,
    /// base64url
    bytes: String,
}

#[derive(Serialize, Deserialize)]
struct Fixture {
    note: String,
    format: u8,
    seal_key: String,
    rows: Vec<Row>,
}

impl Sample {
    pub(crate) fn new(what: &str, key: &Key, value: Value) -> Self {
        let (kind, name) = (char::from(key.kind.letter()), key.name.to_string());
        Self { what: what.to_owned(), kind, name, value, families: Vec::new(), tombstone: None }
    }

    fn key(&self) -> Key {
        Key {
            kind: Kind::of_letter(u8::try_from(self.kind).unwrap()).unwrap(),
            name: self.name.as_str().into(),
        }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        if self.value.is_null() { Vec::new() } else { serde_json::to_vec(&self.value).unwrap() }
    }
}

/// The samples of one kind that were ever released, for the layer that they belong to.
pub(crate) fn released(kind: Kind) -> Vec<Sample> {
    let fixture: Fixture = serde_json::from_str(FIRST).unwrap();
    let samples: Vec<_> = fixture
        .rows
        .into_iter()
        .map(|row| row.sample)
        .filter(|sample| sample.key().kind == kind)
        .collect();
    assert!(!samples.is_empty(), "{kind:?}");
    samples
}

/// Whether all of `part` is in `whole`, which may have members more.
pub(crate) fn contains(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => part
            .iter()
            .all(|(name, part)| whole.get(name).is_some_and(|whole| contains(whole, part))),
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() == part.len()
                && whole.iter().zip(part).all(|(whole, part)| contains(whole, part))
        }
        (whole, part) => whole == part,
    }
}

#[tokio::test]
async fn the_records_of_the_last_release_are_read_told_apart_and_revoked() {
    let fixture: Fixture = serde_json::from_str(FIRST).unwrap();
    assert_eq!(fixture.format, 1);
    for Row { sample, version, bytes } in fixture.rows {
        let (server, prefix) = (shared(), fresh_prefix());
        let store = store_at(server, &prefix, &["a new first key", &fixture.seal_key], ROOMY);
        let key = sample.key();
        server.set(&store.place(&key).key, &digest::from_base64url(&bytes).unwrap());
        let what = &sample.what;
        if let Some(tombstone) = &sample.tombstone {
            assert!(store.load(&key, WRITTEN).await.unwrap().is_none(), "{what}");
            let taken = store.take(&key, vec![], EXPIRES, WRITTEN).await.unwrap();
            assert!(
                matches!(&taken, Taken::Spent(told) if **told == *tombstone.as_bytes()),
                "{what}: {taken:?}"
            );
            continue;
        }
        let record = store.load(&key, WRITTEN).await.unwrap().unwrap();
        assert_eq!((record.version.0, record.expires_at), (version, EXPIRES), "{what}");
        assert_eq!(*record.value, sample.bytes(), "{what}");
        assert!(store.load(&key, EXPIRES).await.unwrap().is_none(), "{what}");
        // A longer life is told to its families, so these must be found in it.
        let later = EXPIRES + Duration::from_secs(60);
        let next =
            store.replace(&key, record.version, b"{}".to_vec(), later, WRITTEN).await.unwrap();
        assert_eq!(next, Replaced::Done(Version(version + 1)), "{what}");
        for family in sample.families.iter().take(1) {
            store.revoke(&Family(family.as_str().into()), later, WRITTEN).await.unwrap();
            assert!(store.load(&key, WRITTEN).await.unwrap().is_none(), "{what}");
        }
    }
}

#[tokio::test]
#[ignore = "writes the fixture of a new format"]
async fn write_the_records_of_this_release() {
    let own_code =
        Key { kind: Kind::OwnCode, name: "a code of a login page of the hub's own".into() };
    let mut samples = crate::login::tests::released::samples();
    samples.extend(crate::grant::tests::released::samples());
    samples.push(crate::actor::blocks::tests::shared::sample().await);
    samples.push(Sample::new(
        "what was proven on a login page of the hub's own",
        &own_code,
        json!({ "person": "angela" }),
    ));
    let mut rows = Vec::new();
    for sample in samples {
        let (server, prefix) = (shared(), fresh_prefix());
        let (store, key) = (store_at(server, &prefix, &[SEAL_KEY], ROOMY), sample.key());
        let families =
            sample.families.iter().map(|family| Family(family.as_str().into())).collect();
        let draft =
            Draft { value: b"before".to_vec(), expires_at: EXPIRES, unread_until: None, families };
        store.insert(key.clone(), draft, WRITTEN).await.unwrap();
        store.replace(&key, Version(1), sample.bytes(), EXPIRES, WRITTEN).await.unwrap();
        if let Some(tombstone) = &sample.tombstone {
            store.take(&key, tombstone.clone().into(), EXPIRES, WRITTEN).await.unwrap();
        }
        let bytes = digest::base64url(&server.get(&only_key(server, &prefix, sample.kind)));
        rows.push(Row { sample, version: 2, bytes });
    }
    let note = "Records as this format's release wrote them; src/store/redis/released_tests.rs says how. Never written anew.";
    let fixture = Fixture {
        note: note.to_owned(),
        format: record::FORMAT,
        seal_key: SEAL_KEY.to_owned(),
        rows,
    };
    let path =
        format!("{}/tests/fixtures/records-{}.json", env!("CARGO_MANIFEST_DIR"), record::FORMAT);
    let there = std::fs::metadata(&path).is_ok_and(|about| about.len() > 3);
    assert!(!there, "{path} was released; count record::FORMAT up first");
    std::fs::write(path, format!("{:#}\n", serde_json::to_value(fixture).unwrap())).unwrap();
}
