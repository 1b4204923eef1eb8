//! Starts the synchronization of rate limit counters between hubs that share a store.

use std::sync::Arc;

use crate::env::Env;
use crate::grant::auth_failures::AuthFailureLimiter;
use crate::quota::RateLimits;
use crate::quota::counter_sync::CounterSync;
use crate::store::counters::Counters;

/// Starts the counter synchronization; returns `None` without a shared store.
pub(super) fn start_counter_sync(
    counters: Option<Arc<dyn Counters>>,
    quotas: &RateLimits,
    mistakes: &AuthFailureLimiter,
    env: &Env,
) -> Option<Arc<CounterSync>> {
    let limits = quotas.limiters().into_iter().chain(mistakes.limits()).collect();
    let exchange = Arc::new(CounterSync::new(limits, counters?, env));
    actix::spawn(Arc::clone(&exchange).run());
    Some(exchange)
}
