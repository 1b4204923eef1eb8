//! The `traceparent` header of W3C Trace Context (Recommendation of 23 November 2021, §3.2).
//!
//! Malformed headers are ignored, never an error (§3.2.2.5: a receiver that can't parse the header
//! starts a new trace).

use std::fmt;

use serde::{Deserialize, Serialize};

/// Id of a trace: 16 bytes, not all zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceId([u8; 16]);

/// Id of a span: 8 bytes, not all zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpanId([u8; 8]);

/// Position of a request in a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct TraceContext {
    pub trace_id: TraceId,
    pub span_id: SpanId,
    /// Whether the spans of this trace are recorded.
    pub sampled: bool,
}

/// Error for a text that is not a `traceparent`.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
#[error("not a traceparent")]
pub struct TraceContextError;

/// `00-` and 32, 16 and 2 hex digits with a hyphen between them.
const TRACEPARENT_CHARS: usize = 55;

const SAMPLED_FLAG: u8 = 1;

impl TraceContext {
    /// Parses a `traceparent`; `None` if it is malformed.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let known = text.get(..TRACEPARENT_CHARS)?;
        let mut parts = known.split('-');
        let version = decode_hex::<1>(parts.next()?)?;
        let trace_id = TraceId::new(decode_hex(parts.next()?)?)?;
        let span_id = SpanId::new(decode_hex(parts.next()?)?)?;
        let [flags] = decode_hex::<1>(parts.next()?)?;
        // Later versions may add fields after a hyphen (§3.2.4); version 255 is invalid.
        let rest = text.get(TRACEPARENT_CHARS..)?;
        match version {
            [0xff] => return None,
            [0] if !rest.is_empty() => return None,
            _ if !rest.is_empty() && !rest.starts_with('-') => return None,
            _ => {}
        }
        parts.next().is_none().then_some(Self {
            trace_id,
            span_id,
            sampled: flags & SAMPLED_FLAG != 0,
        })
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{}-{}-{:02x}", self.trace_id, self.span_id, u8::from(self.sampled))
    }
}

impl From<TraceContext> for String {
    fn from(context: TraceContext) -> Self {
        context.to_string()
    }
}

impl TryFrom<String> for TraceContext {
    type Error = TraceContextError;
    fn try_from(text: String) -> Result<Self, TraceContextError> {
        Self::parse(&text).ok_or(TraceContextError)
    }
}

macro_rules! hex_id {
    ($name:ident, $bytes:literal) => {
        impl $name {
            /// Creates an id; `None` for all zeros, which is invalid.
            #[must_use]
            pub fn new(bytes: [u8; $bytes]) -> Option<Self> {
                bytes.iter().any(|byte| *byte != 0).then_some(Self(bytes))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

hex_id!(TraceId, 16);
hex_id!(SpanId, 8);

/// Decodes lower-case hex digits, the only ones that §3.2.2 allows.
fn decode_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() != 2 * N {
        return None;
    }
    let digit = |c: u8| match c {
        b'0'..=b'9' => Some(c - b'0'),
        b'a'..=b'f' => Some(c - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        let [high, low] = pair else { return None };
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(bytes)
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
    fn whatever_is_malformed_is_as_if_it_had_not_come() {
        let later = GOOD.replacen("00-", "cc-", 1);
        for text in [
            String::new(),
            GOOD.to_uppercase(),
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
        fn what_is_printed_is_read_again(trace: [u8; 16], span: [u8; 8], sampled: bool) {
            prop_assume!(trace != [0; 16] && span != [0; 8]);
            let context = TraceContext { trace_id: TraceId(trace), span_id: SpanId(span), sampled };
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
        fn what_is_read_is_printed_alike(text in "00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]") {
            if let Some(context) = TraceContext::parse(&text) {
                prop_assert_eq!(context.to_string(), text);
            }
        }
    }
}
