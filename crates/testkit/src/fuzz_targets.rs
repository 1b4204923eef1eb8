//! One function for each parser of bytes from strangers, peers or files (docs/security/fuzzing.md).
//!
//! Responsible for what a fuzzer calls: each function takes any bytes, never panics on them, and
//! asserts what must hold for whatever the parser accepts. `fuzz/` calls the functions with
//! libFuzzer's inputs; a test calls them with the committed seeds and with random bytes.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a fuzz target fails by panicking"
)]

#[cfg(feature = "client-registration")]
mod client_registration;
mod files;
mod headers;
mod login_events;
mod records;
mod requests;
#[cfg(feature = "saml")]
mod saml;
mod sample_keys;
#[cfg(test)]
mod tests;
mod tokens;
mod upstream;
#[cfg(feature = "openid4vp")]
mod wallet;

/// Takes one input, and returns whether the parser accepted it. It is built once, and called with
/// one input after the other.
pub type FuzzFunction = Box<dyn FnMut(&[u8]) -> bool>;

/// A parser, or a few that read the same bytes.
pub struct FuzzTarget {
    /// Name of the target, and of its folder in `fuzz/seeds`.
    pub name: &'static str,
    /// The files under `src/` that the target is for: their coverage is measured.
    pub sources: &'static [&'static str],
    build: fn() -> FuzzFunction,
}

impl FuzzTarget {
    /// Returns the function, with everything that it needs.
    pub fn build(&self) -> FuzzFunction {
        (self.build)()
    }
}

const fn target(
    name: &'static str,
    sources: &'static [&'static str],
    build: fn() -> FuzzFunction,
) -> FuzzTarget {
    FuzzTarget { name, sources, build }
}

/// Returns all targets.
pub fn fuzz_targets() -> Vec<FuzzTarget> {
    let groups = [
        requests::TARGETS,
        #[cfg(feature = "client-registration")]
        client_registration::TARGETS,
        headers::TARGETS,
        tokens::TARGETS,
        upstream::TARGETS,
        files::TARGETS,
        records::TARGETS,
        #[cfg(feature = "saml")]
        saml::TARGETS,
        #[cfg(feature = "openid4vp")]
        wallet::TARGETS,
        login_events::TARGETS,
        #[cfg(feature = "openid4vp")]
        wallet::RESPONSE_TARGETS,
    ];
    groups.into_iter().flatten().map(|one| FuzzTarget { ..*one }).collect()
}

/// Splits an input at its first line break.
fn split_line(data: &[u8]) -> (&[u8], &[u8]) {
    let end = data.iter().position(|byte| *byte == b'\n');
    end.map_or((data, &[]), |end| (&data[..end], &data[end + 1..]))
}
