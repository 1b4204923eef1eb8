//! Encodes spans as `ExportTraceServiceRequest` in JSON (OTLP 1.5, opentelemetry-proto 1.x
//! `trace/v1/trace.proto`; ids in hex, 64-bit numbers as strings).

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::finished_span::{AttributeValue, FinishedSpan, SpanBatch, SpanKind};
use crate::protocol::trace_context::{SpanId, TraceId};

/// `STATUS_CODE_ERROR`
const ERROR: u8 = 2;

/// Resource attributes by their OpenTelemetry names, `service.name` first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resource(pub Vec<(String, String)>);

/// Encodes one export request.
///
/// # Errors
/// Returns an error if serialization fails, which these types never do.
pub fn encode_request(resource: &Resource, batches: &[SpanBatch]) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&ExportRequest {
        resource_spans: [ResourceSpans {
            resource: resource.into(),
            scope_spans: [scope_spans(batches)],
        }],
    })
}

fn scope_spans(batches: &[SpanBatch]) -> ScopeSpans<'_> {
    ScopeSpans {
        scope: InstrumentationScope {
            name: env!("CARGO_PKG_NAME"),
            version: env!("CARGO_PKG_VERSION"),
        },
        spans: OtlpSpans(batches),
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExportRequest<'a> {
    resource_spans: [ResourceSpans<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceSpans<'a> {
    resource: Attributes<'a>,
    scope_spans: [ScopeSpans<'a>; 1],
}

#[derive(Serialize)]
struct Attributes<'a> {
    attributes: Vec<Attribute<'a>>,
}

impl<'a> From<&'a Resource> for Attributes<'a> {
    fn from(Resource(attributes): &'a Resource) -> Self {
        let written =
            attributes.iter().map(|(key, value)| Attribute { key, value: AnyValue::Text(value) });
        Self { attributes: written.collect() }
    }
}

#[derive(Serialize)]
struct ScopeSpans<'a> {
    scope: InstrumentationScope,
    spans: OtlpSpans<'a>,
}

#[derive(Serialize)]
struct InstrumentationScope {
    name: &'static str,
    version: &'static str,
}

struct OtlpSpans<'a>(&'a [SpanBatch]);

impl Serialize for OtlpSpans<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(
            self.0
                .iter()
                .flat_map(|batch| batch.spans.iter().map(move |span| OtlpSpan { batch, span })),
        )
    }
}

struct OtlpSpan<'a> {
    batch: &'a SpanBatch,
    span: &'a FinishedSpan,
}

impl Serialize for OtlpSpan<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { batch, span } = self;
        let is_root = span.id == batch.root;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("traceId", &AsString(&batch.trace_id))?;
        map.serialize_entry("spanId", &AsString(&span.id))?;
        if let Some(parent) = if is_root { batch.parent } else { span.parent } {
            map.serialize_entry("parentSpanId", &AsString(&parent))?;
        }
        map.serialize_entry("name", &span.name)?;
        map.serialize_entry("kind", &kind_number(span.kind))?;
        map.serialize_entry("startTimeUnixNano", &AsString(&span.start_nanos))?;
        map.serialize_entry("endTimeUnixNano", &AsString(&span.end_nanos))?;
        let support_id = batch.support_id.as_ref().filter(|_| is_root);
        let support_id = support_id.map(|id| Attribute {
            key: "passerelle.support_id",
            value: AnyValue::Text(id.as_str()),
        });
        let attributes = span
            .attributes
            .iter()
            .map(|(key, value)| Attribute { key, value: AnyValue::from(value) });
        map.serialize_entry("attributes", &Sequence(attributes.chain(support_id)))?;
        if let Some(link) = batch.link.filter(|_| is_root) {
            map.serialize_entry(
                "links",
                &[Link { trace_id: AsString(&link.trace_id), span_id: AsString(&link.span_id) }],
            )?;
        }
        if span.failed {
            map.serialize_entry("status", &Status { code: ERROR })?;
        }
        map.end()
    }
}

const fn kind_number(kind: SpanKind) -> u8 {
    match kind {
        SpanKind::Internal => 1,
        SpanKind::Server => 2,
        SpanKind::Client => 3,
    }
}

#[derive(Serialize)]
struct Status {
    code: u8,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Link<'a> {
    trace_id: AsString<'a, TraceId>,
    span_id: AsString<'a, SpanId>,
}

#[derive(Clone, Copy, Serialize)]
struct Attribute<'a> {
    key: &'a str,
    value: AnyValue<'a>,
}

#[derive(Clone, Copy, Serialize)]
enum AnyValue<'a> {
    #[serde(rename = "stringValue")]
    Text(&'a str),
    #[serde(rename = "intValue", serialize_with = "serialize_as_string")]
    Number(i64),
}

impl<'a> From<&'a AttributeValue> for AnyValue<'a> {
    fn from(value: &'a AttributeValue) -> Self {
        match value {
            AttributeValue::Static(word) => Self::Text(word),
            AttributeValue::Id(id) => Self::Text(id),
            AttributeValue::Number(number) => Self::Number(*number),
        }
    }
}

fn serialize_as_string<S: Serializer>(number: &i64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(number)
}

/// Serializes a value as the string that it displays.
struct AsString<'a, T>(&'a T);

impl<T: std::fmt::Display> Serialize for AsString<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self.0)
    }
}

struct Sequence<I>(I);

impl<I: Iterator<Item: Serialize> + Clone> Serialize for Sequence<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::trace_context::TraceContext;
    use serde_json::json;

    #[test]
    fn an_export_request_has_the_form_of_the_protocol() {
        let login =
            TraceContext::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa01a902b7-01").unwrap();
        let link =
            TraceContext::parse("00-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-bbbbbbbbbbbbbbbb-00").unwrap();
        let own = TraceContext::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-1111111111111111-01")
            .unwrap()
            .span_id;
        let child = TraceContext::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-1111111111111112-01")
            .unwrap()
            .span_id;
        let span = |id, parent, name: &'static str, kind, attributes| {
            let (began, ended, failed) =
                (1_800_000_000_000_000_001, 1_800_000_000_000_000_002, kind == SpanKind::Client);
            FinishedSpan {
                id,
                parent,
                name: name.into(),
                kind,
                start_nanos: began,
                end_nanos: ended,
                failed,
                attributes,
            }
        };
        let batch = SpanBatch {
            trace_id: login.trace_id,
            root: own,
            parent: Some(login.span_id),
            link: Some(link),
            support_id: Some("7K2M9QX4T0BC".into()),
            spans: vec![
                span(
                    child,
                    Some(own),
                    "GET",
                    SpanKind::Client,
                    vec![("error.type", AttributeValue::Static("timeout"))],
                ),
                span(
                    own,
                    None,
                    "POST /api/v2/token",
                    SpanKind::Server,
                    vec![("http.response.status_code", AttributeValue::Number(200))],
                ),
            ],
        };
        let resource = Resource(vec![("service.name".into(), "hub".into())]);
        let written: serde_json::Value =
            serde_json::from_slice(&encode_request(&resource, &[batch]).unwrap()).unwrap();
        let expected = json!({ "resourceSpans": [{
            "resource": { "attributes": [{ "key": "service.name", "value": { "stringValue": "hub" } }] },
            "scopeSpans": [{
                "scope": { "name": "passerelle", "version": env!("CARGO_PKG_VERSION") },
                "spans": [
                    {
                        "traceId": "4bf92f3577b34da6a3ce929d0e0e4736", "spanId": "1111111111111112",
                        "parentSpanId": "1111111111111111", "name": "GET", "kind": 3,
                        "startTimeUnixNano": "1800000000000000001", "endTimeUnixNano": "1800000000000000002",
                        "attributes": [{ "key": "error.type", "value": { "stringValue": "timeout" } }],
                        "status": { "code": 2 },
                    },
                    {
                        "traceId": "4bf92f3577b34da6a3ce929d0e0e4736", "spanId": "1111111111111111",
                        "parentSpanId": "00f067aa01a902b7", "name": "POST /api/v2/token", "kind": 2,
                        "startTimeUnixNano": "1800000000000000001", "endTimeUnixNano": "1800000000000000002",
                        "attributes": [
                            { "key": "http.response.status_code", "value": { "intValue": "200" } },
                            { "key": "passerelle.support_id", "value": { "stringValue": "7K2M9QX4T0BC" } },
                        ],
                        "links": [{ "traceId": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "spanId": "bbbbbbbbbbbbbbbb" }],
                    },
                ],
            }],
        }]});
        assert_eq!(written, expected);
    }
}
