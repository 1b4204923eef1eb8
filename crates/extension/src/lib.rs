//! What an optional crate adds to the hub, as one value: [`Extension`].
//!
//! A program lists its extensions once (`crates/server/src/kinds.rs`). Responsible for what an
//! extension can consist of. Does not know any of them. Begin with [`Extension`].

#[cfg(feature = "testing")]
pub mod testing;

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use passerelle_grants::HubCore;
use passerelle_localization::MessageTexts;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_store::{RecordKind, Store, Usage};
use passerelle_telemetry::{CheckFinding, ExtensionMetric};
use passerelle_web::endpoint::EndpointList;

/// What an optional crate adds to the hub. A program without the crate has none of it.
#[derive(Clone, Copy)]
pub struct Extension {
    /// Cargo feature of the program.
    pub name: &'static str,
    /// Rows of the error catalogue.
    pub error_codes: &'static [ErrorCode],
    /// Messages of its pages and errors, in every built-in language.
    pub messages: MessageTexts,
    pub metrics: &'static [&'static ExtensionMetric],
    /// Kinds of records, with the capacity of each.
    pub record_kinds: &'static [(&'static RecordKind, Usage)],
    /// Routes of the public listener.
    pub endpoints: EndpointList,
    /// Starts what the extension runs in a hub. Called inside an actix system, so that it can spawn
    /// tasks; it must not wait.
    pub start: fn(&ExtensionContext<'_>) -> StartedExtension,
}

/// Parts of the hub that an extension starts with.
pub struct ExtensionContext<'a> {
    pub core: &'a Arc<HubCore>,
    pub store: &'a Arc<dyn Store>,
}

/// Returns what the operator should know while the extension is degraded, from memory.
pub type DegradationCheck = Box<dyn Fn() -> Vec<CheckFinding> + Send + Sync>;

/// What an extension runs in one hub.
#[derive(Default)]
pub struct StartedExtension {
    /// For the handlers of its routes, which find it by its type
    /// ([`Hub::extension`](passerelle_web::Hub::extension)).
    pub state: Option<Arc<dyn Any + Send + Sync>>,
    /// Degradations in `/readyz`, under the name of the extension.
    pub degradations: Option<DegradationCheck>,
}

impl Extension {
    /// Creates an extension that adds nothing.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            error_codes: &[],
            messages: &[],
            metrics: &[],
            record_kinds: &[],
            endpoints: Vec::new,
            start: |_| StartedExtension::default(),
        }
    }

    /// Adds its error codes and messages to those of the program. Must precede the reading of a
    /// configuration or of a record.
    pub fn install(&self) {
        ErrorCode::add_extension(self.error_codes);
        passerelle_localization::add_extension(self.messages);
    }
}

impl fmt::Debug for Extension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Extension").field(&self.name).finish()
    }
}
