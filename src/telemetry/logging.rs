//! L1 · Where log lines go (standard error) and how they look: for people, or one JSON object a line.

use tracing::Dispatch;
use tracing_subscriber::EnvFilter;

use crate::config::model::LogFormat;
use crate::telemetry::TelemetryFault;

/// Lets log lines flow. A second call changes nothing: the first one's format and filter stay.
///
/// # Errors
/// `Filter`: the filter is malformed; nothing was set up.
pub fn init_logging(format: LogFormat, filter: &str) -> Result<(), TelemetryFault> {
    let filter = filter_of(filter)?;
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let dispatch: Dispatch = match format {
        LogFormat::Human => lines.with_ansi(false).into(),
        LogFormat::Json => lines.json().flatten_event(true).into(),
    };
    // Refused only if a subscriber is there already, as where a test runs several hubs in one process.
    let _already_set = tracing::dispatcher::set_global_default(dispatch);
    Ok(())
}

/// # Errors
/// `Filter`: the filter is malformed.
pub fn check_filter(filter: &str) -> Result<(), TelemetryFault> {
    filter_of(filter).map(|_| ())
}

fn filter_of(filter: &str) -> Result<EnvFilter, TelemetryFault> {
    EnvFilter::try_new(filter).map_err(|error| TelemetryFault::Filter { filter: filter.to_owned(), reason: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logging_may_begin_twice() {
        assert_eq!(init_logging(LogFormat::Human, "warn"), Ok(()));
        assert_eq!(init_logging(LogFormat::Json, "warn,passerelle=debug"), Ok(()));
    }

    #[test]
    fn a_bad_filter_is_named() {
        let fault = init_logging(LogFormat::Human, "passerelle=loud").unwrap_err();
        assert!(fault.to_string().contains("`passerelle=loud`"), "{fault}");
    }
}
