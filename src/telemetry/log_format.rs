//! L1 · How a log line looks: for people, or one JSON object a line with names that do not change (docs/logs-and-traces.md).
//!
//! Owns: the names `timestamp`, `level`, `target`, `message`, `code`, `support_id`, `trace_id`, `span_id` and their order.
//! Must not know: what lines say. A line that does not name its login gets it from the scope that it is written in
//! ([`super::trace`]), so that lines from deep inside a connector are found by the support id as well.

use std::fmt;

use serde::ser::{SerializeMap, Serializer as _};
use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::{Format, Full, Writer};
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use super::trace;

const MESSAGE: &str = "message";
const CODE: &str = "code";
const SUPPORT_ID: &str = "support_id";
const TRACE_ID: &str = "trace_id";
const SPAN_ID: &str = "span_id";

/// How lines look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LineFormat {
    /// For people.
    Human,
    /// For programs.
    Json,
}

/// The time, level, target, message, and fields as `name=value`.
#[derive(Default)]
pub struct Human(Format<Full, SystemTime>);

/// One JSON object.
pub struct Json;

impl<S, N> FormatEvent<S, N> for Human
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let origin = trace::origin();
        let mut line = String::new();
        self.0.format_event(context, Writer::new(&mut line), event)?;
        on_one_line(&mut writer, line.trim_end_matches('\n'))?;
        if let Some(support_id) = origin.support_id.filter(|_| !Fields::of(event).has(SUPPORT_ID)) {
            write!(writer, " {SUPPORT_ID}={:?}", support_id.as_str())?;
        }
        if let Some((trace_id, span_id)) = origin.trace {
            write!(writer, " {TRACE_ID}={trace_id} {SPAN_ID}={span_id}")?;
        }
        writer.write_char('\n')
    }
}

/// A fault may repeat what somebody sent: with a line end in it he would write lines of his own, and with an escape sequence
/// he would speak to the terminal.
fn on_one_line(writer: &mut Writer<'_>, text: &str) -> fmt::Result {
    text.split_inclusive(char::is_control).try_for_each(|part| {
        match part.char_indices().next_back() {
            Some((at, last)) if last.is_control() => {
                writer.write_str(part.get(..at).unwrap_or_default())?;
                write!(writer, "{}", last.escape_default())
            }
            Some(_) | None => writer.write_str(part),
        }
    })
}

impl<S, N> FormatEvent<S, N> for Json
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut bytes = Vec::with_capacity(256);
        json(&mut bytes, event).map_err(|_| fmt::Error)?;
        writer.write_str(std::str::from_utf8(&bytes).map_err(|_| fmt::Error)?)?;
        writer.write_char('\n')
    }
}

fn json(bytes: &mut Vec<u8>, event: &Event<'_>) -> Result<(), serde_json::Error> {
    let (mut fields, origin, metadata) = (Fields::of(event), trace::origin(), event.metadata());
    let mut timestamp = String::new();
    // Into a string it always fits.
    let _fits = SystemTime.format_time(&mut Writer::new(&mut timestamp));
    let mut serializer = serde_json::Serializer::new(bytes);
    let mut line = serializer.serialize_map(None)?;
    line.serialize_entry("timestamp", &timestamp)?;
    line.serialize_entry("level", metadata.level().as_str())?;
    line.serialize_entry("target", metadata.target())?;
    line.serialize_entry(MESSAGE, &fields.take(MESSAGE).unwrap_or_default())?;
    if let Some(code) = fields.take(CODE) {
        line.serialize_entry(CODE, &code)?;
    }
    let support_id =
        fields.take(SUPPORT_ID).or_else(|| origin.support_id.map(|id| Value::from(id.as_str())));
    if let Some(support_id) = support_id {
        line.serialize_entry(SUPPORT_ID, &support_id)?;
    }
    if let Some((trace_id, span_id)) = origin.trace {
        line.serialize_entry(TRACE_ID, &trace_id.to_string())?;
        line.serialize_entry(SPAN_ID, &span_id.to_string())?;
    }
    for (name, value) in &fields.0 {
        line.serialize_entry(name, value)?;
    }
    line.end()
}

/// An event's fields that have a value.
#[derive(Default)]
struct Fields(Vec<(&'static str, Value)>);

impl Fields {
    fn of(event: &Event<'_>) -> Self {
        let mut fields = Self::default();
        event.record(&mut fields);
        fields
    }

    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(has, _)| *has == name)
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        let at = self.0.iter().position(|(has, _)| *has == name)?;
        Some(self.0.remove(at).1)
    }
}

impl Visit for Fields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.push((field.name(), value.into()));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.push((field.name(), value.into()));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.push((field.name(), value.into()));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.push((field.name(), value.into()));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.push((field.name(), value.into()));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.push((field.name(), format!("{value:?}").into()));
    }
}

#[cfg(test)]
pub(crate) mod tests;
