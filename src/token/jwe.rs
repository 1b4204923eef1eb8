//! What the hub knows of JWE, for sealing and for opening alike: A256GCM, and no compression.
//!
//! Owns: which content encryptions exist here. Must not know: keys, headers. RFC 7518, 5.1; RFC 8725, 3.6.

use std::sync::LazyLock;

use josekit::jwe::JweContext;

/// A256GCM and nothing else. A compressed plaintext tells its content by its length, and of 256 KB it makes 200 MB for
/// whoever inflates it.
pub(super) static CONTEXT: LazyLock<JweContext> = LazyLock::new(|| {
    let mut context = JweContext::new();
    context.remove_compression("DEF");
    for other in ["A128CBC-HS256", "A192CBC-HS384", "A256CBC-HS512", "A128GCM", "A192GCM"] {
        context.remove_content_encryption(other);
    }
    context
});
