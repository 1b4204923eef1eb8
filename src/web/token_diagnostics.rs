//! Stores the causes of failed token requests on a sandbox hub. Each can be read once.

use std::time::Duration;

use moka::policy::EvictionPolicy;
use moka::sync::Cache;

use crate::env::{Env, Timestamp};
use crate::grant::error::GrantError;

/// How long a diagnostic can be read.
const LIFETIME: Duration = Duration::from_secs(10 * 60);
/// Maximum number of stored diagnostics; the least recently used ones are dropped.
const MAX_DIAGNOSTICS: u64 = 1000;

/// Why a token request failed.
#[derive(Clone, Debug)]
pub struct TokenDiagnostic {
    pub error: GrantError,
    pub at: Timestamp,
}

/// Diagnostics of failed token requests, each readable once, in the memory of this process.
#[derive(Clone, Debug)]
pub struct TokenDiagnostics(Cache<String, TokenDiagnostic>);

impl Default for TokenDiagnostics {
    fn default() -> Self {
        // By moka's default policy, a full cache would refuse new entries.
        let cache = Cache::builder().max_capacity(MAX_DIAGNOSTICS).time_to_live(LIFETIME);
        Self(cache.eviction_policy(EvictionPolicy::lru()).build())
    }
}

impl TokenDiagnostics {
    /// Stores a diagnostic and returns its unguessable id.
    #[must_use]
    pub fn insert(&self, error: GrantError, env: &Env) -> String {
        let id = env.entropy().token();
        self.0.insert(id.clone(), TokenDiagnostic { error, at: env.now() });
        id
    }

    /// Removes and returns a diagnostic. At most one concurrent caller succeeds; returns `None` if
    /// it is unknown, expired or already taken.
    #[must_use]
    pub fn take(&self, id: &str, now: Timestamp) -> Option<TokenDiagnostic> {
        self.0.remove(id).filter(|diagnostic| now < diagnostic.at + LIFETIME)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::catalogue::ErrorCode;

    #[test]
    fn a_diagnostic_is_read_once_and_not_after_its_lifetime() {
        let (diagnostics, env) = (TokenDiagnostics::default(), Env::system());
        let store = || diagnostics.insert(ErrorCode::CodeVerifier.into(), &env);
        let id = store();
        assert!(diagnostics.take(&id, env.now()).is_some());
        assert!(diagnostics.take(&id, env.now()).is_none());
        assert!(diagnostics.take(&store(), env.now() + LIFETIME).is_none());
    }

    #[test]
    fn a_flood_of_failures_neither_fills_the_memory_nor_keeps_new_ones_out() {
        let (diagnostics, env) = (TokenDiagnostics::default(), Env::system());
        for _ in 0..5000 {
            let _id = diagnostics.insert(ErrorCode::ClientUnknown.into(), &env);
        }
        let newest = diagnostics.insert(ErrorCode::CodeVerifier.into(), &env);
        diagnostics.0.run_pending_tasks();
        assert!(diagnostics.0.entry_count() <= MAX_DIAGNOSTICS);
        assert!(diagnostics.take(&newest, env.now()).is_some());
    }
}
