//! Defines the events of optional crates, and finds an event by its name.

use std::borrow::Cow;
use std::sync::{PoisonError, RwLock};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

use super::EventKind;

/// Event of an optional crate. Its fields are among those of every [`Event`](super::Event), so that
/// no line holds another kind of text.
#[derive(PartialEq, Eq, Hash, Debug)]
pub struct ExtensionEvent {
    /// Name in the log. A released name never changes or gets another meaning.
    pub name: &'static str,
    /// Meaning, in a sentence.
    pub meaning: &'static str,
    /// Fields that a line may have, besides those of every line.
    pub fields: &'static [&'static str],
    /// Whether anyone can cause the event at will, without a login in the store.
    pub is_unauthenticated: bool,
}

/// Events of the optional crates of this program. A line names an event, and serde hands its reader
/// no context, so the list belongs to the process (docs/design/adr/0037-extensions.md).
static EXTENSION_EVENTS: RwLock<Vec<EventKind>> = RwLock::new(Vec::new());

impl EventKind {
    /// Adds the events of an optional crate. Has no effect on those that were added before.
    pub fn add_extension(events: &[Self]) {
        let mut known = EXTENSION_EVENTS.write().unwrap_or_else(PoisonError::into_inner);
        for event in events {
            if !known.contains(event) {
                known.push(*event);
            }
        }
    }

    /// Returns every event of this program.
    pub fn all() -> Vec<Self> {
        let extensions = EXTENSION_EVENTS.read().unwrap_or_else(PoisonError::into_inner);
        Self::BUILT_IN.iter().chain(extensions.iter()).copied().collect()
    }

    /// Returns the event with this name in the log.
    pub fn find(name: &str) -> Option<Self> {
        let extensions = EXTENSION_EVENTS.read().unwrap_or_else(PoisonError::into_inner);
        let mut all = Self::BUILT_IN.iter().chain(extensions.iter());
        all.find(|known| known.as_str() == name).copied()
    }
}

impl Serialize for EventKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for EventKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::find(&name).ok_or_else(|| D::Error::custom("unknown audit event"))
    }
}

impl JsonSchema for EventKind {
    fn schema_name() -> Cow<'static, str> {
        "EventKind".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let describe = |event: Self| json!({ "type": "string", "const": event.as_str(), "description": event.meaning() });
        json_schema!({
            "oneOf": Self::all().into_iter().map(describe).collect::<Value>(),
            "description": "Kind of an audit event. Released names never change or get another meaning.",
        })
    }
}
