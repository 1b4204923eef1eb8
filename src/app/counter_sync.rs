//! The limits that hubs with a shared store keep together.

use std::sync::Arc;

use crate::env::Env;
use crate::grant::mistakes::Mistakes;
use crate::quota::Quotas;
use crate::quota::exchange::Exchange;
use crate::store::counters::Counters;

/// What tells other hubs of this one's counts; `None` where it is alone.
pub(super) fn exchange(
    counters: Option<Arc<dyn Counters>>,
    quotas: &Quotas,
    mistakes: &Mistakes,
    env: &Env,
) -> Option<Arc<Exchange>> {
    let limits = quotas.limits().into_iter().chain(mistakes.limits()).collect();
    let exchange = Arc::new(Exchange::new(limits, counters?, env));
    actix::spawn(Arc::clone(&exchange).follow());
    Some(exchange)
}
