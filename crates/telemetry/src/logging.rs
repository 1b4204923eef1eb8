//! Sets up logging to standard error (docs/logs-and-traces.md).

use tracing::Dispatch;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;
use tracing_subscriber::fmt::MakeWriter;

use super::TelemetryError;
use super::log_format::{HumanFormat, JsonFormat, LineFormat};
use passerelle_protocol::catalogue::ErrorCode;

/// Logs at the level that the catalogue gives to the code: `at_level!(code, field, …, "what
/// happened")`.
#[macro_export]
macro_rules! at_level {
    ($code:expr, $($line:tt)+) => {{
        let entry = $code.entry();
        match entry.severity {
            $crate::LogSeverity::Info => tracing::info!(code = entry.code, $($line)+),
            $crate::LogSeverity::Warn => tracing::warn!(code = entry.code, $($line)+),
            $crate::LogSeverity::Error => tracing::error!(code = entry.code, $($line)+),
        }
    }};
}

/// Logs the rejection of a request. `support_id` is the one on the error page, if any; `client_id`
/// is registered.
pub fn log_rejection(
    support_id: Option<&str>,
    client_id: Option<&str>,
    code: ErrorCode,
    what: &str,
) {
    at_level!(code, support_id, client_id, "{what}");
}

/// Starts logging. A second call has no effect.
///
/// # Errors
/// Returns [`TelemetryError::Filter`] if the filter is malformed; nothing is set up.
pub fn init_logging(format: LineFormat, filter: &str) -> Result<(), TelemetryError> {
    let dispatch = log_dispatch(std::io::stderr, format, filter)?;
    // Fails only if a subscriber is set, as in a test with several hubs.
    let _already_set = tracing::dispatcher::set_global_default(dispatch);
    Ok(())
}

/// Returns a dispatcher that writes the same log lines to `writer`, for tests.
///
/// # Errors
/// As for [`init_logging`].
pub fn log_dispatch<W>(
    writer: W,
    format: LineFormat,
    filter: &str,
) -> Result<Dispatch, TelemetryError>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let lines = tracing_subscriber::fmt()
        .with_env_filter(parse_filter(filter)?)
        .with_writer(writer)
        .with_ansi(false);
    // Lines that can't be written are lost. Reporting them uses `eprintln!`, which panics if
    // standard error can't be written: a full disk would end the hub.
    let lines = lines.log_internal_errors(false);
    Ok(match format {
        LineFormat::Human => lines.event_format(HumanFormat::default()).into(),
        LineFormat::Json => lines.event_format(JsonFormat).into(),
    })
}

/// Makes panics log only their location, for the whole process: the message may hold user data, as
/// that of slicing a string inside a character holds the string.
pub fn log_panic_locations() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        tracing::error!(code = ErrorCode::Internal.entry().code, place, "a panic");
    }));
}

/// Validates a log filter.
///
/// # Errors
/// Returns [`TelemetryError::Filter`] if the filter is malformed.
pub fn validate_filter(filter: &str) -> Result<(), TelemetryError> {
    parse_filter(filter).map(|_| ())
}

/// Target under which actix-http logs an error for each malformed request; `web::connection` counts
/// them.
const MALFORMED_HTTP_TARGET: &str = "actix_http::h1::dispatcher";

fn parse_filter(filter: &str) -> Result<EnvFilter, TelemetryError> {
    let filter_error =
        |reason: String| TelemetryError::Filter { filter: filter.to_owned(), reason };
    let parsed = EnvFilter::try_new(filter).map_err(|error| filter_error(error.to_string()))?;
    if filter.contains("actix_http") {
        // The operator configured these lines explicitly.
        return Ok(parsed);
    }
    let off = format!("{MALFORMED_HTTP_TARGET}=off")
        .parse()
        .map_err(|error: ParseError| filter_error(error.to_string()))?;
    Ok(parsed.add_directive(off))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::captured_log::Lines;

    #[test]
    fn logging_may_start_twice() {
        assert_eq!(init_logging(LineFormat::Human, "warn"), Ok(()));
        assert_eq!(init_logging(LineFormat::Json, "warn,passerelle=debug"), Ok(()));
    }

    #[test]
    fn a_rejection_is_logged_at_the_level_of_the_catalogue() {
        for (code, level) in [
            (ErrorCode::BadRequest, "INFO"),
            (ErrorCode::Unavailable, "WARN"),
            (ErrorCode::Internal, "ERROR"),
        ] {
            let lines = Lines::default();
            tracing::dispatcher::with_default(&lines.dispatch(), || {
                log_rejection(Some("S-1"), Some("shop"), code, "it was rejected");
                log_rejection(None, None, code, "without a support id");
            });
            let lines = lines.json();
            let [with_id, without_id] = lines.as_slice() else { panic!("{lines:?}") };
            assert_eq!(
                (with_id["level"].as_str(), with_id["code"].as_str()),
                (Some(level), Some(code.entry().code))
            );
            assert_eq!(
                (with_id["support_id"].as_str(), with_id["message"].as_str()),
                (Some("S-1"), Some("it was rejected"))
            );
            assert_eq!(without_id.get("support_id"), None);
        }
    }

    #[test]
    fn malformed_http_writes_no_line_of_its_own() {
        for (filter, heard) in
            [("info", 0), ("debug,passerelle=trace", 0), ("info,actix_http=error", 1)]
        {
            let lines = Lines::default();
            let written = lines.clone();
            let dispatch = log_dispatch(move || written.clone(), LineFormat::Json, filter).unwrap();
            tracing::dispatcher::with_default(&dispatch, || {
                tracing::error!(target: "actix_http::h1::dispatcher", "stream error: request parse error");
            });
            assert_eq!(lines.text().lines().count(), heard, "{filter}");
        }
    }

    #[test]
    fn a_bad_filter_is_named() {
        let error = init_logging(LineFormat::Human, "passerelle=loud").unwrap_err();
        assert!(error.to_string().contains("`passerelle=loud`"), "{error}");
    }
}
