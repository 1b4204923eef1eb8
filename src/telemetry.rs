//! L1 · Every metric, the log's beginnings, and what belongs together in a trace, in one place.
//!
//! Owns: names, labels and their bounds, how logs are written, what a span may say and how spans are exported. Must not
//! know: who counts what. A label is a word of the program, the id of a connector, of a registered service provider or data
//! provider, or a route's pattern: never a person, a session or free text, so that what is watched stays small and says
//! nothing about anybody.

pub mod export;
pub(crate) mod lines;
mod logging;
mod metrics;
pub mod otlp;
mod process;
pub mod trace;

pub use lines::LineFormat;
pub(crate) use logging::at_level;
pub use logging::{check_filter, init_logging, lines_to, refused, tell_panics_by_place};
pub use metrics::{Declared, Judged, Listener, Metrics, Outcome, Parts, Sort, StoreMeter, page};

#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum TelemetryFault {
    #[error("the metric {name} can't be registered: {reason}")]
    Metric { name: String, reason: String },
    #[error(
        "the log filter `{filter}` is not understood: {reason}; write it as `info` or `info,passerelle=debug`"
    )]
    Filter { filter: String, reason: String },
}
