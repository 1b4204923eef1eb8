//! Reports the service providers whose logout tokens wait for long.

use std::collections::BTreeMap;
use std::time::Duration;

use super::queue::QueuedNotice;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::ClientId;
use passerelle_telemetry::CheckFinding;

/// Age from which a token is reported: by then its receiver has failed about four times, or too many
/// wait for it.
const MIN_REPORTED_AGE: Duration = Duration::from_secs(60);
/// Maximum number of service providers in the message, those with most tokens first.
const MAX_NAMES_LISTED: usize = 3;

/// Returns which service providers have tokens that wait for long.
pub(super) fn find_backlog<'a>(
    entries: impl Iterator<Item = &'a QueuedNotice>,
    now: Timestamp,
) -> Option<CheckFinding> {
    let mut counts: BTreeMap<&ClientId, usize> = BTreeMap::new();
    for entry in entries.filter(|entry| now.since(entry.created_at) >= MIN_REPORTED_AGE) {
        *counts.entry(&entry.notice.client_id).or_default() += 1;
    }
    let waiting: usize = counts.values().sum();
    let mut by_count: Vec<_> = counts.into_iter().collect();
    by_count.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let listed =
        by_count.iter().take(MAX_NAMES_LISTED).map(|(id, count)| format!("{id} ({count})"));
    let mut names = listed.collect::<Vec<_>>().join(", ");
    if let more @ 1.. = by_count.len().saturating_sub(MAX_NAMES_LISTED) {
        names = format!("{names} and {more} more");
    }
    let tokens = if waiting == 1 { "logout token has" } else { "logout tokens have" };
    let finding = CheckFinding::new(
        format!(
            "{waiting} {tokens} waited for more than a minute, so users who signed out stay signed in at {names}"
        ),
        "inform their operators, unless the check of keys fails too: backchannel_logout_uri doesn't answer, or not fast enough; the log has each answer; the hub retries for an hour (docs/logout.md)",
    );
    (waiting > 0).then(|| finding.with_kind("logout tokens"))
}
