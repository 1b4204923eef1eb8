//! Formats log lines: as text, or as one JSON object each with stable names
//! (docs/logs-and-traces.md).
//!
//! A line without a support id gets the one of its trace scope ([`super::trace`]), so that lines
//! from inside a connector are found by support id too.

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

/// Format of log lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LineFormat {
    /// Text for people.
    Human,
    /// JSON for programs.
    Json,
}

/// Text format: time, level, target, message, and fields as `name=value`.
#[derive(Default)]
pub struct HumanFormat(Format<Full, SystemTime>);

/// JSON format: one object for each line.
pub struct JsonFormat;

impl<S, N> FormatEvent<S, N> for HumanFormat
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
        let origin = trace::log_origin();
        let mut line = String::new();
        self.0.format_event(context, Writer::new(&mut line), event)?;
        write_escaped(&mut writer, line.trim_end_matches('\n'))?;
        if let Some(support_id) =
            origin.support_id.filter(|_| !EventFields::from_event(event).has(SUPPORT_ID))
        {
            write!(writer, " {SUPPORT_ID}={:?}", support_id.as_str())?;
        }
        if let Some((trace_id, span_id)) = origin.trace {
            write!(writer, " {TRACE_ID}={trace_id} {SPAN_ID}={span_id}")?;
        }
        writer.write_char('\n')
    }
}

/// Writes text with control characters escaped: it may repeat input, which must not forge log lines
/// or send escape sequences to the terminal.
fn write_escaped(writer: &mut Writer<'_>, text: &str) -> fmt::Result {
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

impl<S, N> FormatEvent<S, N> for JsonFormat
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
        write_json(&mut bytes, event).map_err(|_| fmt::Error)?;
        writer.write_str(std::str::from_utf8(&bytes).map_err(|_| fmt::Error)?)?;
        writer.write_char('\n')
    }
}

fn write_json(bytes: &mut Vec<u8>, event: &Event<'_>) -> Result<(), serde_json::Error> {
    let (mut fields, origin, metadata) =
        (EventFields::from_event(event), trace::log_origin(), event.metadata());
    let mut timestamp = String::new();
    // Writing to a string can't fail.
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

/// Fields of an event that have a value.
#[derive(Default)]
struct EventFields(Vec<(&'static str, Value)>);

impl EventFields {
    fn from_event(event: &Event<'_>) -> Self {
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

impl Visit for EventFields {
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
mod tests;
