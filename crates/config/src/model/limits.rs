//! Defines the `[limits]` table of `passerelle.toml`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Default of `limits.login_bytes` for each of `limits.logins`: more than a typical login takes.
const DEFAULT_BYTES_PER_LOGIN: usize = 2048;
/// Minimum of `limits.login_bytes`: the size of the largest login.
const MIN_LOGIN_BYTES: usize = 64 << 10;

/// Capacities and timeouts.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsConfig {
    /// Maximum number of concurrent logins. Further ones get 503 with `Retry-After`.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub logins: usize,
    /// Maximum total size of login records, in bytes. Further logins get 503 with `Retry-After`. A
    /// small request takes about 850, the largest 15,800. Default: 2,048 for each of
    /// `limits.logins`.
    #[schemars(range(min = MIN_LOGIN_BYTES, max = 1_u64 << 40))]
    pub login_bytes: Option<u64>,
    /// Maximum number of sessions for single sign-on.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub sessions: usize,
    /// Maximum number of codes, tokens and their tombstones. The same number applies to used `jti`s
    /// of client assertions, request objects and DPoP proofs, at most half of them of one service
    /// provider.
    #[schemars(range(min = 1, max = 20_000_000))]
    pub grants: usize,
    /// Maximum number of grants with a refresh token; none until a service provider's file has
    /// `[refresh_tokens]`.
    #[schemars(range(min = 1, max = 20_000_000))]
    pub refresh_grants: usize,
    /// Maximum number of logout tokens that wait for delivery, in all hubs that share a store; at
    /// most half of them for one service provider.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub logout_tokens: usize,
    /// Maximum number of concurrent login steps. Steps that wait for an identity provider don't
    /// count.
    #[schemars(range(min = 1, max = 65_536))]
    pub steps_in_flight: usize,
    /// Failed authentications of one client per minute. Further failures get 429 with
    /// `Retry-After`. A successful authentication always passes and is not counted.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub failed_authentications_per_minute: u32,
    /// Introspections of one data provider per minute that find no active token. Further ones get
    /// 429. Introspections of active tokens always pass.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub inactive_answers_per_minute: u32,
    /// Maximum number of concurrent calls to one identity provider, unless its file sets
    /// `limits.calls`.
    #[schemars(range(min = 1, max = 65_536))]
    pub calls_per_connector: usize,
    /// Seconds between scans of connectors, service providers, data providers and scopes without a
    /// file system event. After an event, a changed file takes effect within a second.
    #[schemars(range(min = 1, max = 3600))]
    pub reload_seconds: u64,
    /// Time limit of a request including its body, in seconds.
    #[schemars(range(min = 1, max = 120))]
    pub request_seconds: u64,
    /// When stopping: seconds between reporting not ready and closing the listener, so that load
    /// balancers notice in time. Requests are still served, and each response closes its
    /// connection. 0 stops immediately.
    #[schemars(range(min = 0, max = 300))]
    pub not_ready_seconds: u64,
    /// When stopping: seconds for requests in flight to finish.
    #[schemars(range(min = 1, max = 300))]
    pub shutdown_seconds: u64,
    /// Threads that serve requests and run logins; 0 for one per processor.
    #[schemars(range(min = 0, max = 1024))]
    pub workers: usize,
    /// Logins that the admin console remembers, and as many rejections again, of half a kilobyte
    /// each. None if 0, or without `private.admin_token`, `private.operators` and `private.peers`.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub remembered_logins: usize,
    /// Days after its beginning at which the admin console forgets a login.
    #[schemars(range(min = 1, max = 366))]
    pub remembered_login_days: u32,
}

impl LimitsConfig {
    /// Returns the maximum total size of login records, in bytes.
    pub fn login_bytes(&self) -> usize {
        let configured = self.login_bytes.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        configured.unwrap_or_else(|| {
            self.logins.saturating_mul(DEFAULT_BYTES_PER_LOGIN).max(MIN_LOGIN_BYTES)
        })
    }
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self {
            logins: 200_000,
            login_bytes: None,
            sessions: 200_000,
            grants: 400_000,
            refresh_grants: 200_000,
            logout_tokens: 20_000,
            steps_in_flight: 1024,
            failed_authentications_per_minute: 60,
            inactive_answers_per_minute: 600,
            calls_per_connector: 128,
            reload_seconds: 30,
            request_seconds: 20,
            not_ready_seconds: 0,
            shutdown_seconds: 20,
            workers: 0,
            remembered_logins: 20_000,
            remembered_login_days: 30,
        }
    }
}
