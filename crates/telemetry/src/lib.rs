//! Metrics, logs and traces: names, labels, formats and export.
//!
//! A label is a constant, the id of a connector, registered service provider or data provider, or a
//! route pattern. It is never a user, a session or free text, so that metrics stay few and hold no
//! personal data. Does not depend on who reads the numbers. Begin with [`Metrics`].

#![cfg_attr(test, allow(clippy::pedantic, clippy::too_many_arguments))]

mod check_finding;
#[cfg(feature = "otlp")]
pub mod export;
pub mod log_format;
mod logging;
mod metrics;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod trace;
mod untrusted_text;

pub use check_finding::CheckFinding;
pub use log_format::LineFormat;
pub use logging::{
    init_logging, log_dispatch, log_panic_locations, log_rejection, validate_filter,
};
pub use metrics::{
    CallOutcome, EndedLogins, ExtensionMetric, ExtensionMetricType, Listener, LoginOutcome,
    LoginPhases, MetricDeclaration, MetricType, Metrics, StoreMeter, markdown_page,
};
#[doc(hidden)]
pub use passerelle_protocol::catalogue::LogSeverity; // for `at_level`
pub use untrusted_text::printable_ascii;

/// Error returned when telemetry can't be set up.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum TelemetryError {
    #[error("the metric {name} can't be registered: {reason}")]
    Metric { name: String, reason: String },
    #[error(
        "the log filter `{filter}` is invalid: {reason}; write it as `info` or `info,passerelle=debug`"
    )]
    Filter { filter: String, reason: String },
}
