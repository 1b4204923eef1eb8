//! L1 · Where log lines go (standard error), and what each of them carries.
//!
//! How they look is [`super::lines`]' to know, and docs/logs-and-traces.md says it to operators.

use tracing::Dispatch;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;
use tracing_subscriber::fmt::MakeWriter;

use super::TelemetryFault;
use super::lines::{Human, Json, LineFormat};
use crate::protocol::catalogue::ErrorCode;

/// A log line as loud as the catalogue says of its code: `at_level!(code, field, …, "what happened")`.
macro_rules! at_level {
    ($code:expr, $($line:tt)+) => {{
        let entry = $code.entry();
        match entry.severity {
            $crate::protocol::catalogue::Severity::Info => tracing::info!(code = entry.code, $($line)+),
            $crate::protocol::catalogue::Severity::Warn => tracing::warn!(code = entry.code, $($line)+),
            $crate::protocol::catalogue::Severity::Error => tracing::error!(code = entry.code, $($line)+),
        }
    }};
}
pub(crate) use at_level;

/// One line for one refusal. `support_id` is what the person reads on the page, where there is one; `client_id` is a
/// registered one.
pub fn refused(support_id: Option<&str>, client_id: Option<&str>, code: ErrorCode, what: &str) {
    at_level!(code, support_id, client_id, "{what}");
}

/// Lets log lines flow. A second call changes nothing: the first one's format and filter stay.
///
/// # Errors
/// `Filter`: the filter is malformed; nothing was set up.
pub fn init_logging(format: LineFormat, filter: &str) -> Result<(), TelemetryFault> {
    let dispatch = lines_to(std::io::stderr, format, filter)?;
    // Refused only if a subscriber is there already, as where a test runs several hubs in one process.
    let _already_set = tracing::dispatcher::set_global_default(dispatch);
    Ok(())
}

/// The same lines to somewhere else, for whoever reads them in a test.
///
/// # Errors
/// As for [`init_logging`].
pub fn lines_to<W>(writer: W, format: LineFormat, filter: &str) -> Result<Dispatch, TelemetryFault>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter_of(filter)?)
        .with_writer(writer)
        .with_ansi(false);
    // What can't be written is lost. It would be told by `eprintln!`, which panics where standard error is what can't be
    // written: a log's full disk, or a reader that died, would end the hub.
    let lines = lines.log_internal_errors(false);
    Ok(match format {
        LineFormat::Human => lines.event_format(Human::default()).into(),
        LineFormat::Json => lines.event_format(Json).into(),
    })
}

/// Has a panic tell where it happened, and nothing else: its message may hold what was being worked on, as that of a slice
/// of text that is cut in the middle of a character holds the text. For the whole process.
pub fn tell_panics_by_place() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        tracing::error!(code = ErrorCode::Internal.entry().code, place, "a panic");
    }));
}

/// # Errors
/// `Filter`: the filter is malformed.
pub fn check_filter(filter: &str) -> Result<(), TelemetryFault> {
    filter_of(filter).map(|_| ())
}

/// actix-http writes an ERROR line for each request that is not HTTP. `web::connection` counts them instead.
const LINE_PER_CONNECTION: &str = "actix_http::h1::dispatcher";

fn filter_of(filter: &str) -> Result<EnvFilter, TelemetryFault> {
    let fault = |reason: String| TelemetryFault::Filter { filter: filter.to_owned(), reason };
    let parsed = EnvFilter::try_new(filter).map_err(|error| fault(error.to_string()))?;
    if filter.contains("actix_http") {
        // The operator asks for these lines by name.
        return Ok(parsed);
    }
    let off = format!("{LINE_PER_CONNECTION}=off")
        .parse()
        .map_err(|error: ParseError| fault(error.to_string()))?;
    Ok(parsed.add_directive(off))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    #[test]
    fn logging_may_begin_twice() {
        assert_eq!(init_logging(LineFormat::Human, "warn"), Ok(()));
        assert_eq!(init_logging(LineFormat::Json, "warn,passerelle=debug"), Ok(()));
    }

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_refusal_is_as_loud_as_the_catalogue_says() {
        for (code, level) in [
            (ErrorCode::BadRequest, "INFO"),
            (ErrorCode::Unavailable, "WARN"),
            (ErrorCode::Internal, "ERROR"),
        ] {
            let lines = Lines::default();
            let written = lines.clone();
            let dispatch = lines_to(move || written.clone(), LineFormat::Json, "info").unwrap();
            tracing::dispatcher::with_default(&dispatch, || {
                refused(Some("S-1"), Some("shop"), code, "it was refused");
                refused(None, None, code, "nobody to tell");
            });
            let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
            let lines: Vec<serde_json::Value> =
                text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let [told, untold] = lines.as_slice() else { panic!("{text}") };
            assert_eq!(
                (told["level"].as_str(), told["code"].as_str()),
                (Some(level), Some(code.entry().code))
            );
            assert_eq!(
                (told["support_id"].as_str(), told["message"].as_str()),
                (Some("S-1"), Some("it was refused"))
            );
            assert_eq!(untold.get("support_id"), None);
        }
    }

    #[test]
    fn malformed_http_writes_no_line_of_its_own() {
        for (filter, heard) in
            [("info", 0), ("debug,passerelle=trace", 0), ("info,actix_http=error", 1)]
        {
            let lines = Lines::default();
            let written = lines.clone();
            let dispatch = lines_to(move || written.clone(), LineFormat::Json, filter).unwrap();
            tracing::dispatcher::with_default(&dispatch, || {
                tracing::error!(target: "actix_http::h1::dispatcher", "stream error: request parse error");
            });
            let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
            assert_eq!(text.lines().count(), heard, "{filter}");
        }
    }

    #[test]
    fn a_bad_filter_is_named() {
        let fault = init_logging(LineFormat::Human, "passerelle=loud").unwrap_err();
        assert!(fault.to_string().contains("`passerelle=loud`"), "{fault}");
    }
}
