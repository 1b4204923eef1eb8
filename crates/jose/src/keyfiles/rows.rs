//! Defines the row of each key in `passerelle keys list`.

use std::collections::BTreeMap;
use std::time::Duration;

use super::folder::KeyPurpose;
use crate::key_device::KeyLocation;
use crate::keyring::{KeyState, Keyring, RETIRED_KEY_LIFETIME};
use crate::relying_party_keys::{
    PUBLICATION_DELAY, RETIRED_DECRYPTION_KEY_LIFETIME, RelyingPartyKeys,
};
use crate::signing_key::SigningKey;
use passerelle_protocol::env::Timestamp;

/// One line of `passerelle keys list`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyRow {
    pub purpose: KeyPurpose,
    pub kid: String,
    /// JOSE names.
    pub alg: &'static str,
    pub state: KeyState,
    /// When the key entered this state; for `Next`, when it was created.
    pub since: Timestamp,
    /// When the key leaves this state: `Next` takes over, `Current` is replaced (if a successor
    /// exists), `Retired` is removed.
    pub until: Option<Timestamp>,
    /// Where the private half is.
    pub location: KeyLocation,
    /// The key in a device, as its key file names it.
    pub uri: Option<String>,
}

/// Lists every key with its state.
pub fn key_rows(tokens: &Keyring, upstream: &RelyingPartyKeys, now: Timestamp) -> Vec<KeyRow> {
    let signing = |purpose: KeyPurpose, ring: &Keyring| -> Vec<KeyRow> {
        let row = |(key, state): (&SigningKey, KeyState)| {
            let (since, until) = match state {
                KeyState::Current => {
                    (key.signs_from, ring.successor(key).map(|next| next.signs_from))
                }
                KeyState::Next => (key.created, Some(key.signs_from)),
                KeyState::Retired { since } => (since, Some(since + RETIRED_KEY_LIFETIME)),
            };
            KeyRow {
                purpose,
                kid: key.kid.clone(),
                alg: key.alg.as_str(),
                state,
                since,
                until,
                location: key.location(),
                uri: key.device_key().map(|key| key.uri.to_string()),
            }
        };
        ring.states(now).into_iter().map(row).collect()
    };
    let decryption = upstream.states(now).into_iter().map(|(key, state)| {
        let (since, until) = match state {
            KeyState::Current => (key.created, upstream.retirement_time(key)),
            KeyState::Next => (key.created, Some(key.created + PUBLICATION_DELAY)),
            KeyState::Retired { since } => (since, Some(since + RETIRED_DECRYPTION_KEY_LIFETIME)),
        };
        KeyRow {
            purpose: KeyPurpose::Encryption,
            kid: key.kid.clone(),
            alg: key.key_type.encryption_alg_names(),
            state,
            since,
            until,
            location: key.location(),
            uri: key.device_key().map(|key| key.uri.to_string()),
        }
    });
    let mut rows = signing(KeyPurpose::Tokens, tokens);
    rows.extend(signing(KeyPurpose::Assertion, upstream.assertion()));
    rows.extend(decryption);
    rows
}

/// Returns when the keys are `period` old, counted for each kind of key from its newest one; `None`
/// without keys.
pub fn rotation_due_at(rows: &[KeyRow], period: Duration) -> Option<Timestamp> {
    let mut newest = BTreeMap::new();
    for row in rows.iter().filter(|row| !matches!(row.state, KeyState::Retired { .. })) {
        let since = newest.entry((row.purpose, row.alg)).or_insert(row.since);
        *since = row.since.max(*since);
    }
    newest.into_values().min().map(|since| since + period)
}

/// Returns whether the keys are to be rotated every `period`, and now. A next key that is not in
/// use yet delays it.
pub fn is_rotation_due(rows: &[KeyRow], period: Duration, now: Timestamp) -> bool {
    rows.iter().all(|row| row.state != KeyState::Next)
        && rotation_due_at(rows, period).is_some_and(|due_at| due_at <= now)
}
