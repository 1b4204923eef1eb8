//! Errors that keep a hub from starting.

use passerelle_jose::keyfiles;
use passerelle_register::kind::OpenRegisterError;
use passerelle_store::kind::OpenStoreError;

/// Error returned when a hub can't be built.
#[derive(thiserror::Error, Debug)]
pub enum BuildError {
    #[error(transparent)]
    Keys(#[from] keyfiles::KeyFileError),
    #[cfg(feature = "pkcs11")]
    #[error(transparent)]
    Pkcs11(#[from] passerelle_jose::pkcs11::Pkcs11ModuleError),
    #[error("{0}; see docs/keys-in-hardware.md")]
    KeyDevice(String),
    #[error("the signing keys can't be used for verification: {0}")]
    OwnKeys(#[from] passerelle_jose::verify::JwsError),
    #[error("the connector {id} can't be built: {error}")]
    Connector { id: String, error: passerelle_settings::FieldDiagnostic },
    #[error(transparent)]
    Audit(#[from] passerelle_audit::AuditError),
    #[error("traces can't be exported: {0}; correct [traces]")]
    Traces(String),
    #[error(transparent)]
    RuntimeEntries(#[from] passerelle_hub::runtime_entries::EntriesFileError),
    #[error(transparent)]
    Store(#[from] OpenStoreError),
    #[error("the register can't be loaded: {0}")]
    Register(String),
    #[error(transparent)]
    SubjectKey(#[from] passerelle_federation::identity::sub::SubjectKeyError),
    #[error("public.client_certificates.ca can't be used: {0}")]
    ClientCertificates(#[from] passerelle_jose::client_certificate::AuthoritiesError),
    #[error(transparent)]
    ClientKeys(#[from] passerelle_grants::client_keys::KeyDirectoryError),
    #[error(transparent)]
    OuterMiddleware(#[from] passerelle_web::outer_middleware::OuterMiddlewareError),
    #[error(transparent)]
    Telemetry(#[from] passerelle_telemetry::TelemetryError),
    #[error("the other hubs of private.peers can't be called: {0}")]
    Peers(String),
    #[error("the settings can't be prepared for the admin console: {0}")]
    Settings(#[from] serde_json::Error),
    #[error("{}", join_lines(.0))]
    Several(Vec<Self>),
}

/// Returns the items as text, one on each line.
pub(super) fn join_lines<T: ToString>(items: &[T]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

impl From<OpenRegisterError> for BuildError {
    fn from(error: OpenRegisterError) -> Self {
        Self::Register(error.to_string())
    }
}
