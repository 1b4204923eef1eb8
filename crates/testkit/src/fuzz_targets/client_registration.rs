//! The target of client registration.

use passerelle_client_registration::client_metadata::ClientMetadata;
use serde_json::Value;

use super::{FuzzFunction, FuzzTarget, target};

pub(super) const TARGETS: &[FuzzTarget] = &[target(
    "client_metadata",
    &["crates/client-registration/src/client_metadata.rs"],
    client_metadata,
)];

fn client_metadata() -> FuzzFunction {
    Box::new(|data| {
        let Ok((mut metadata, _)) = ClientMetadata::parse(data) else { return false };
        let before = Value::Object(metadata.members().clone()).to_string();
        let again = ClientMetadata::parse(before.as_bytes()).unwrap().0;
        assert!(again == metadata, "metadata that is read again differs");
        let _ = (metadata.names(), metadata.has_called_addresses(), metadata.needs_secret());
        let _ = (metadata.file_members().count(), metadata.keys());
        metadata.keep_default_method(&again);
        true
    })
}
