//! The overview: what is wrong, then identity providers, logins and the store.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use askama::Template;

use super::{PageContext, platform_name};
use crate::console::failure_views::FailureCause;
use crate::console::listing::{TablePage, TableQuery};
use crate::console::views::HubStatus;
use crate::login_trend::LoginMinute;
use crate::problem::{Problem, fold_problems};
use crate::readable;
use passerelle_hub::registry::{BlockRow, ConnectorRow, ConnectorState};
use passerelle_web::pages::render_template;

/// Interval of the refreshed overview in seconds.
pub(in crate::console) const REFRESH_SECONDS: u16 = 10;
/// Rows of identity providers that need attention; a problem above names the cause of more.
const MAX_UNHEALTHY_ROWS: usize = 20;
/// Reasons of failed logins; the page of failures has all.
const MAX_CAUSES: usize = 3;

/// Whether the overview loads itself again at an interval. The operator decides, so that nothing
/// moves unasked (WCAG 2.2, 2.2.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::console) enum RefreshMode {
    On,
    Off,
}

impl RefreshMode {
    /// Reads the mode from the query of the overview.
    pub(in crate::console) fn from_query(query: &str) -> Self {
        if query == "refresh=on" { Self::On } else { Self::Off }
    }
}

/// Renders the overview.
pub(in crate::console) fn overview_page(
    status: &HubStatus,
    causes: &[FailureCause],
    refresh: RefreshMode,
    page: &PageContext,
) -> String {
    let (shown, folded) = fold_problems(&status.problems);
    let (healthy, unhealthy): (Vec<&ConnectorRow>, Vec<&ConnectorRow>) =
        status.connectors.iter().partition(|row| !needs_attention(row));
    render_template(&OverviewTemplate {
        page,
        status,
        causes: causes.get(..MAX_CAUSES).unwrap_or(causes),
        refreshes: refresh == RefreshMode::On,
        shown,
        folded,
        unhealthy: unhealthy.get(..MAX_UNHEALTHY_ROWS).unwrap_or(&unhealthy),
        unhealthy_total: unhealthy.len(),
        healthy: TableQuery::default().select(healthy),
    })
}

/// Returns whether something is wrong with the identity provider. It is not wrong that its file
/// disables it.
fn needs_attention(row: &ConnectorRow) -> bool {
    row.invalid_file.is_some()
        || row.is_slow()
        || !matches!(row.state, ConnectorState::Available | ConnectorState::Disabled)
}

#[derive(Template)]
#[template(path = "admin_overview.html")]
struct OverviewTemplate<'a> {
    page: &'a PageContext,
    status: &'a HubStatus,
    /// The most frequent reasons of the last hour at this hub.
    causes: &'a [FailureCause],
    refreshes: bool,
    shown: Vec<&'a Problem>,
    folded: Vec<&'a Problem>,
    /// The first of those that need attention.
    unhealthy: &'a [&'a ConnectorRow],
    unhealthy_total: usize,
    healthy: TablePage<&'a ConnectorRow>,
}

impl OverviewTemplate<'_> {
    fn platform(&self) -> &'static str {
        platform_name(self.status.platform)
    }
}

impl OverviewTemplate<'_> {
    /// Returns the numbers of identity providers by state, those that need attention first.
    fn state_counts(&self) -> String {
        let mut counts: BTreeMap<ConnectorState, usize> = BTreeMap::new();
        for row in &self.status.connectors {
            *counts.entry(row.state).or_default() += 1;
        }
        let text = |(state, count): (&ConnectorState, &usize)| {
            format!("{} {}", self.count(count), state.as_str())
        };
        counts.iter().map(text).collect::<Vec<_>>().join(" · ")
    }

    #[expect(clippy::unused_self, reason = "a template calls a method of what it has")]
    fn count(&self, count: impl Borrow<usize>) -> String {
        readable::count(u64::try_from(*count.borrow()).unwrap_or(u64::MAX))
    }

    /// Returns the running logins with the words of the page.
    fn live_rows(&self) -> [(&'static str, i64); 6] {
        let live = &self.status.live;
        [
            ("choosing", live.choosing),
            ("at the identity provider", live.awaiting_callback),
            ("coming back", live.verifying),
            ("being identified", live.identifying),
            ("entering a code by mail", live.confirming_mail),
            ("on the last page", live.consenting),
        ]
    }

    /// Returns the blocks that were set by command, also those of connectors that no longer exist.
    fn liftable_blocks(&self) -> impl Iterator<Item = &BlockRow> {
        let current = self.status.connectors.iter().flat_map(|row| &row.blocks);
        current.chain(&self.status.orphaned_blocks).filter(|block| block.id.is_some())
    }

    /// Returns the bars of the last hour.
    fn trend(&self) -> TrendChart {
        TrendChart::from_minutes(&self.status.last_hour)
    }
}

/// The bars of the last hour: one for each minute, at most [`TrendChart::HEIGHT`] high.
struct TrendChart {
    bars: Vec<TrendBar>,
    granted: u64,
    unsuccessful: u64,
    highest: u64,
}

struct TrendBar {
    x: usize,
    granted_y: u64,
    granted_height: u64,
    unsuccessful_y: u64,
    unsuccessful_height: u64,
}

impl TrendChart {
    const HEIGHT: u64 = 60;
    const BAR_WIDTH: usize = 10;

    fn from_minutes(minutes: &[LoginMinute]) -> Self {
        let sum = |of: fn(&LoginMinute) -> u64| minutes.iter().map(of).sum();
        let highest = minutes.iter().map(|minute| minute.granted + minute.unsuccessful).max();
        let highest = highest.unwrap_or_default();
        let scaled = |count: u64| (count * Self::HEIGHT).div_ceil(highest.max(1));
        let first = 60_usize.saturating_sub(minutes.len());
        let bar = |(index, minute): (usize, &LoginMinute)| {
            let unsuccessful_height = scaled(minute.unsuccessful);
            let granted_height = scaled(minute.granted).min(Self::HEIGHT - unsuccessful_height);
            TrendBar {
                x: (first + index) * Self::BAR_WIDTH,
                granted_y: Self::HEIGHT - granted_height,
                granted_height,
                unsuccessful_y: Self::HEIGHT - granted_height - unsuccessful_height,
                unsuccessful_height,
            }
        };
        Self {
            bars: minutes.iter().enumerate().map(bar).collect(),
            granted: sum(|minute| minute.granted),
            unsuccessful: sum(|minute| minute.unsuccessful),
            highest,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_identity_provider_needs_attention_if_its_state_its_file_or_its_speed_is_wrong() {
        for (state, median_seconds, invalid_file, expected) in [
            ("available", 0.1, None, false),
            ("available", 5.0, None, true),
            ("available", 0.1, Some("line 3"), true),
            ("blocked", 0.1, None, true),
            ("degraded", 0.1, None, true),
            ("disabled", 5.0, None, false),
        ] {
            let row = json!({
                "id": "amandier", "name": {}, "state": state, "blocks": [],
                "lowest": "eidas1", "highest": "eidas1", "invalid_file": invalid_file,
                "health": {
                    "circuit": "closed", "failure_ratio": 0.0, "median_seconds": median_seconds,
                },
            });
            let row: ConnectorRow = serde_json::from_value(row).unwrap();
            assert_eq!(needs_attention(&row), expected, "{row:?}");
        }
    }
}
