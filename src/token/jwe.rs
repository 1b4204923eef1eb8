//! JWE content encryption of the hub: A256GCM without compression (RFC 7518 §5.1; RFC 8725 §3.6).

use std::sync::LazyLock;

use josekit::jwe::JweContext;

/// josekit context with A256GCM only. Compression is off: it leaks content through the length, and
/// 256 KB can inflate to 200 MB.
pub(super) static CONTEXT: LazyLock<JweContext> = LazyLock::new(|| {
    let mut context = JweContext::new();
    context.remove_compression("DEF");
    for other in ["A128CBC-HS256", "A192CBC-HS384", "A256CBC-HS512", "A128GCM", "A192GCM"] {
        context.remove_content_encryption(other);
    }
    context
});
