//! Waiting for what settles by itself, with a limit.

use std::time::Duration;

const MAX_WAIT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Calls `attempt` until it returns a value; fails the test after half a minute.
pub async fn wait_for<T>(what: &str, mut attempt: impl AsyncFnMut() -> Option<T>) -> T {
    let attempts = async {
        loop {
            if let Some(value) = attempt().await {
                return value;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    tokio::time::timeout(MAX_WAIT, attempts)
        .await
        .unwrap_or_else(|_| panic!("after {} seconds, still not: {what}", MAX_WAIT.as_secs()))
}

/// Waits until `condition` holds; fails the test after half a minute.
pub async fn wait_until(what: &str, condition: impl Fn() -> bool) {
    wait_for(what, async || condition().then_some(())).await;
}
