//! Tests that this release reads the records of earlier ones (docs/redis.md, "Upgrades").
//!
//! `tests/fixtures/records-1.json` has records as they were stored in a server, encrypted with a
//! key that it names, and the plain values. It is never rewritten. When the format changes, the new
//! one gets its own file: `cargo test --lib write_the_records_of_this_release -- --ignored`, which
//! never overwrites one.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::tests::{fresh_prefix, only_key, shared_server, store_at};
use super::super::*;
use crate::store::{Family, NewRecord, ReplaceOutcome, Store, TakeOutcome};
use crate::testing::store_conformance::AMPLE_CAPACITIES;

const RECORDS_1: &str = include_str!("../../../../tests/fixtures/records-1.json");
const WRITTEN_AT: Timestamp = Timestamp::from_seconds(1_790_000_000);
const EXPIRES_AT: Timestamp = Timestamp::from_seconds(1_790_000_600);
const STORE_KEY: &str = "a key that seals nothing but this fixture";

/// Record as a layer writes it, with its name.
#[derive(Serialize, Deserialize)]
pub(crate) struct Sample {
    #[serde(rename = "what")]
    pub description: String,
    /// Letter of the record kind.
    pub kind: char,
    pub name: String,
    /// Value; null stands for no bytes.
    pub value: Value,
    pub families: Vec<String>,
    /// Tombstone, if the record was taken.
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
    pub(crate) fn new(description: &str, key: &RecordKey, value: Value) -> Self {
        let (kind, name) = (char::from(key.kind.letter()), key.name.to_string());
        Self {
            description: description.to_owned(),
            kind,
            name,
            value,
            families: Vec::new(),
            tombstone: None,
        }
    }

    fn key(&self) -> RecordKey {
        RecordKey {
            kind: RecordKind::from_letter(u8::try_from(self.kind).unwrap()).unwrap(),
            name: self.name.as_str().into(),
        }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        if self.value.is_null() { Vec::new() } else { serde_json::to_vec(&self.value).unwrap() }
    }
}

/// Returns all released samples of one kind, for the tests of the layer that writes them.
pub(crate) fn released_samples(kind: RecordKind) -> Vec<Sample> {
    let fixture: Fixture = serde_json::from_str(RECORDS_1).unwrap();
    let samples: Vec<_> = fixture
        .rows
        .into_iter()
        .map(|row| row.sample)
        .filter(|sample| sample.key().kind == kind)
        .collect();
    assert!(!samples.is_empty(), "{kind:?}");
    samples
}

/// Returns whether `whole` contains all of `part`. It may have more members, and lack those whose
/// value is the default.
pub(crate) fn json_contains(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            part.iter().all(|(name, part)| match whole.get(name) {
                Some(whole) => json_contains(whole, part),
                None => is_json_default(part),
            })
        }
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() == part.len()
                && whole.iter().zip(part).all(|(whole, part)| json_contains(whole, part))
        }
        (whole, part) => whole == part,
    }
}

fn is_json_default(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_u64() == Some(0),
        Value::String(_) => false,
        Value::Array(elements) => elements.is_empty(),
        Value::Object(members) => members.values().all(is_json_default),
    }
}

#[tokio::test]
async fn the_records_of_earlier_releases_are_read_distinguished_and_revoked() {
    let fixture: Fixture = serde_json::from_str(RECORDS_1).unwrap();
    assert_eq!(fixture.format, 1);
    for Row { sample, version, bytes } in fixture.rows {
        let (server, prefix) = (shared_server(), fresh_prefix());
        let store =
            store_at(server, &prefix, &["a new first key", &fixture.seal_key], AMPLE_CAPACITIES);
        let key = sample.key();
        server.set(&store.locate(&key).key, &digest::from_base64url(&bytes).unwrap());
        let what = &sample.description;
        if let Some(tombstone) = &sample.tombstone {
            assert!(store.load(&key, WRITTEN_AT).await.unwrap().is_none(), "{what}");
            let taken = store.take(&key, vec![], EXPIRES_AT, WRITTEN_AT).await.unwrap();
            assert!(
                matches!(&taken, TakeOutcome::AlreadyTaken(stored) if **stored == *tombstone.as_bytes()),
                "{what}: {taken:?}"
            );
            continue;
        }
        let record = store.load(&key, WRITTEN_AT).await.unwrap().unwrap();
        assert_eq!((record.version.0, record.expires_at), (version, EXPIRES_AT), "{what}");
        assert_eq!(*record.value, sample.bytes(), "{what}");
        assert!(store.load(&key, EXPIRES_AT).await.unwrap().is_none(), "{what}");
        // Extending the record needs its families, so these must be readable.
        let later = EXPIRES_AT + Duration::from_secs(60);
        let next =
            store.replace(&key, record.version, b"{}".to_vec(), later, WRITTEN_AT).await.unwrap();
        assert_eq!(next, ReplaceOutcome::Replaced(RecordVersion(version + 1)), "{what}");
        for family in sample.families.iter().take(1) {
            store.revoke(&Family(family.as_str().into()), later, WRITTEN_AT).await.unwrap();
            assert!(store.load(&key, WRITTEN_AT).await.unwrap().is_none(), "{what}");
        }
    }
}

#[tokio::test]
#[ignore = "writes the fixture of a new format"]
async fn write_the_records_of_this_release() {
    let own_code = RecordKey {
        kind: RecordKind::LoginPageCode,
        name: "a code of a login page of the hub's own".into(),
    };
    let mut samples = crate::login::tests::released::samples();
    samples.extend(crate::grant::tests::released::samples());
    samples.push(crate::actor::blocks::tests::store_sync::sample().await);
    samples.push(Sample::new(
        "what was proven on a login page of the hub's own",
        &own_code,
        json!({ "person": "angela" }),
    ));
    let mut rows = Vec::new();
    for sample in samples {
        let (server, prefix) = (shared_server(), fresh_prefix());
        let (store, key) =
            (store_at(server, &prefix, &[STORE_KEY], AMPLE_CAPACITIES), sample.key());
        let families =
            sample.families.iter().map(|family| Family(family.as_str().into())).collect();
        let draft = NewRecord {
            value: b"before".to_vec(),
            expires_at: EXPIRES_AT,
            expires_unread_at: None,
            families,
        };
        store.insert(key.clone(), draft, WRITTEN_AT).await.unwrap();
        store
            .replace(&key, RecordVersion(1), sample.bytes(), EXPIRES_AT, WRITTEN_AT)
            .await
            .unwrap();
        if let Some(tombstone) = &sample.tombstone {
            store.take(&key, tombstone.clone().into(), EXPIRES_AT, WRITTEN_AT).await.unwrap();
        }
        let bytes = digest::base64url(&server.get(&only_key(server, &prefix, sample.kind)));
        rows.push(Row { sample, version: 2, bytes });
    }
    let note = "Records as this format's release wrote them; see src/store/redis/tests/released.rs. Never rewritten.";
    let fixture = Fixture {
        note: note.to_owned(),
        format: record::FORMAT,
        seal_key: STORE_KEY.to_owned(),
        rows,
    };
    let path =
        format!("{}/tests/fixtures/records-{}.json", env!("CARGO_MANIFEST_DIR"), record::FORMAT);
    let there = std::fs::metadata(&path).is_ok_and(|about| about.len() > 3);
    assert!(!there, "{path} was released; increment record::FORMAT first");
    std::fs::write(path, format!("{:#}\n", serde_json::to_value(fixture).unwrap())).unwrap();
}
