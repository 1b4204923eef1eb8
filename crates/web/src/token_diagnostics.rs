//! Stores the causes of failed token requests on a sandbox hub. Each can be read for ten minutes, so
//! that its page can be reloaded and shown in another language.

use std::time::Duration;

use moka::policy::EvictionPolicy;
use moka::sync::Cache;

use passerelle_grants::error::GrantError;
use passerelle_protocol::env::{Env, Timestamp};

/// How long a diagnostic can be opened, and how long it can be read from then on.
const LIFETIME: Duration = Duration::from_secs(10 * 60);
/// Maximum number of stored diagnostics; the least recently used ones are dropped.
const MAX_DIAGNOSTICS: u64 = 1000;

/// A token request that failed, and why.
#[derive(Clone, Debug)]
pub struct FailedTokenRequest {
    pub error: GrantError,
    pub at: Timestamp,
}

/// A stored diagnostic.
#[derive(Clone, Debug)]
struct StoredDiagnostic {
    diagnostic: FailedTokenRequest,
    /// When it was opened first.
    opened_at: Option<Timestamp>,
}

/// Diagnostics of failed token requests, in the memory of this process.
#[derive(Clone, Debug)]
pub struct TokenDiagnostics(Cache<String, StoredDiagnostic>);

impl Default for TokenDiagnostics {
    fn default() -> Self {
        // By moka's default policy, a full cache would refuse new entries.
        let cache = Cache::builder().max_capacity(MAX_DIAGNOSTICS).time_to_live(LIFETIME);
        Self(cache.eviction_policy(EvictionPolicy::lru()).build())
    }
}

impl TokenDiagnostics {
    /// Stores a diagnostic and returns its unguessable id.
    pub fn insert(&self, error: GrantError, env: &Env) -> String {
        let id = env.entropy().token();
        let diagnostic = FailedTokenRequest { error, at: env.now() };
        self.0.insert(id.clone(), StoredDiagnostic { diagnostic, opened_at: None });
        id
    }

    /// Returns a diagnostic; `None` if it is unknown or expired.
    pub fn open(&self, id: &str, now: Timestamp) -> Option<FailedTokenRequest> {
        let StoredDiagnostic { diagnostic, opened_at } = self.0.get(id)?;
        let is_readable = now < opened_at.unwrap_or(diagnostic.at) + LIFETIME;
        if is_readable && opened_at.is_none() {
            let opened = StoredDiagnostic { diagnostic: diagnostic.clone(), opened_at: Some(now) };
            self.0.insert(id.to_owned(), opened);
        }
        is_readable.then_some(diagnostic)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use passerelle_protocol::catalogue::ErrorCode;

    #[test]
    fn a_diagnostic_is_readable_for_ten_minutes_from_its_first_opening() {
        let (diagnostics, env) = (TokenDiagnostics::default(), Env::system());
        let store = || diagnostics.insert(ErrorCode::CodeVerifier.into(), &env);
        let (id, begin) = (store(), env.now());
        let almost = LIFETIME - Duration::from_secs(1);
        assert!(diagnostics.open(&id, begin + almost).is_some());
        assert!(diagnostics.open(&id, begin + almost + almost).is_some(), "a reload");
        assert!(diagnostics.open(&id, begin + almost + LIFETIME).is_none());
        assert!(diagnostics.open(&store(), env.now() + LIFETIME).is_none(), "never opened");
        assert!(diagnostics.open("another", begin).is_none());
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
        assert!(diagnostics.open(&newest, env.now()).is_some());
    }
}
