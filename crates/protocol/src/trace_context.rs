//! The `traceparent` header of W3C Trace Context (Recommendation of 23 November 2021, §3.2).
//!
//! Malformed headers are ignored, never an error (§3.2.2.5: a receiver that can't parse the header
//! starts a new trace).

use std::num::NonZero;

use serde::{Deserialize, Serialize};

/// Id of a trace: 16 bytes, not all zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, derive_more::Display)]
#[display("{_0:032x}")]
pub struct TraceId(pub NonZero<u128>);

/// Id of a span: 8 bytes, not all zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, derive_more::Display)]
#[display("{_0:016x}")]
pub struct SpanId(pub NonZero<u64>);

/// Position of a request in a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, derive_more::Display)]
#[display("00-{trace_id}-{span_id}-{:02x}", u8::from(*sampled))]
#[serde(into = "String", try_from = "String")]
pub struct TraceContext {
    pub trace_id: TraceId,
    pub span_id: SpanId,
    /// Whether the spans of this trace are recorded.
    pub sampled: bool,
}

const SAMPLED_FLAG: u128 = 1;

impl TraceContext {
    /// Parses a `traceparent`; `None` if it is malformed.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(5, '-');
        let version = parse_hex(parts.next()?, 2)?;
        let trace_id = NonZero::new(parse_hex(parts.next()?, 32)?)?;
        let span_id = NonZero::new(parse_hex(parts.next()?, 16)?)?;
        let flags = parse_hex(parts.next()?, 2)?;
        // Later versions may add fields after a hyphen (§3.2.4); version 255 is invalid.
        let is_known = version != 0xff && (version != 0 || parts.next().is_none());
        is_known.then_some(Self {
            trace_id: TraceId(trace_id),
            span_id: SpanId(span_id.try_into().ok()?),
            sampled: flags & SAMPLED_FLAG != 0,
        })
    }
}

impl From<TraceContext> for String {
    fn from(context: TraceContext) -> Self {
        context.to_string()
    }
}

impl TryFrom<String> for TraceContext {
    type Error = &'static str;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("not a traceparent")
    }
}

/// Parses a number of exactly `digits` lower-case hex digits, the only ones that §3.2.2 allows.
fn parse_hex(text: &str, digits: usize) -> Option<u128> {
    let is_hex = text.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'));
    if text.len() == digits && is_hex { u128::from_str_radix(text, 16).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa01a902b7-01";

    #[test]
    fn the_specifications_examples_are_read() {
        let context = TraceContext::parse(GOOD).unwrap();
        assert_eq!(context.trace_id.to_string(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(context.span_id.to_string(), "00f067aa01a902b7");
        assert!(context.sampled);
        assert!(!TraceContext::parse(&GOOD.replace("-01", "-00")).unwrap().sampled);
        assert!(
            TraceContext::parse(&GOOD.replace("-01", "-03")).unwrap().sampled,
            "other flags are ignored"
        );
        assert_eq!(
            TraceContext::parse(&format!("{}-more", GOOD.replacen("00-", "01-", 1))),
            Some(context),
            "a later version"
        );
    }

    #[test]
    fn malformed_values_are_ignored() {
        let later = GOOD.replacen("00-", "cc-", 1);
        for text in [
            String::new(),
            GOOD.to_ascii_uppercase(),
            GOOD[..54].to_owned(),
            format!("{GOOD}-more"),
            format!("{GOOD} "),
            format!("{later}more"),
            GOOD.replacen("00-", "ff-", 1),
            GOOD.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)),
            GOOD.replace("00f067aa01a902b7", &"0".repeat(16)),
            GOOD.replace("-01", "-0g"),
            GOOD.replace("-01", "-é"),
            GOOD.replace("35", "3-"),
        ] {
            assert_eq!(TraceContext::parse(&text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_formatted_header_is_parsed_again(
            trace in 1..=u128::MAX,
            span in 1..=u64::MAX,
            sampled: bool,
        ) {
            let trace_id = TraceId(NonZero::new(trace).unwrap());
            let span_id = SpanId(NonZero::new(span).unwrap());
            let context = TraceContext { trace_id, span_id, sampled };
            prop_assert_eq!(TraceContext::parse(&context.to_string()), Some(context));
            let json = serde_json::to_string(&context).unwrap();
            prop_assert_eq!(serde_json::from_str::<TraceContext>(&json).unwrap(), context);
        }

        #[test]
        fn no_text_is_too_much(text in ".{0,80}") {
            let _never_panics = TraceContext::parse(&text);
        }

        /// Parsing version 00 and printing it is the identity.
        #[test]
        fn a_parsed_header_is_formatted_unchanged(text in "00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]") {
            if let Some(context) = TraceContext::parse(&text) {
                prop_assert_eq!(context.to_string(), text);
            }
        }
    }
}
