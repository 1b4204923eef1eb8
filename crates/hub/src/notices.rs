//! The notices to users: those of `notices.toml`, and those that operators publish on the running
//! hub.

use std::collections::BTreeMap;
use std::iter;

use serde::{Deserialize, Serialize};

use super::runtime_entries::{
    EntryKind, EntryOrigin, EntryUpdateError, Persistence, RuntimeEntries, RuntimeEntry,
};
use passerelle_federation::CurrentFederation;
use passerelle_federation::notices::{MAX_NOTICES, Notice, NoticeSeverity, NoticeTable};
use passerelle_protocol::env::Timestamp;
use passerelle_settings::FieldDiagnostic;
use passerelle_telemetry::CheckFinding;

/// All notices: a handle, cheap to clone.
#[derive(Clone)]
pub struct Notices {
    published: RuntimeEntries<Notice>,
    federation: CurrentFederation,
}

/// Error returned when a notice was not published, or its publication is not confirmed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoticeError {
    Invalid(Vec<FieldDiagnostic>),
    NotUpdated(EntryUpdateError),
}

/// A notice as an operator sees it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NoticeRow {
    #[serde(rename = "by")]
    pub origin: EntryOrigin,
    /// Id to remove it by; `None` for a notice of the file.
    pub id: Option<String>,
    /// By language.
    pub text: BTreeMap<String, String>,
    pub severity: NoticeSeverity,
    pub link: Option<String>,
    /// RFC 3339, like `until`.
    pub from: Option<String>,
    pub until: Option<String>,
    pub in_force: bool,
}

impl EntryKind for Notice {
    type Fields = NoticeTable;

    const NAME: &'static str = "notices";
    const RECORD_NAME: &'static str = "notices";
    const MAX_ENTRIES: usize = MAX_NOTICES;
    const LOSS: &'static str = "no page would show them";
    const NOTE: &'static str = "Written by the hub. Change it by `passerelle notice publish` and `passerelle notice remove`.";

    fn from_fields(fields: NoticeTable) -> Result<Self, Vec<FieldDiagnostic>> {
        Self::new(fields)
    }

    fn to_fields(&self) -> NoticeTable {
        self.to_table()
    }

    fn has_ended(&self, now: Timestamp) -> bool {
        Self::has_ended(self, now)
    }
}

impl Notices {
    /// Creates the notices from the published ones and those of the files in use.
    pub const fn new(published: RuntimeEntries<Notice>, federation: CurrentFederation) -> Self {
        Self { published, federation }
    }

    /// Returns the notices that pages show now, the published ones first.
    pub fn in_force(&self) -> Vec<Notice> {
        self.filter(Notice::is_in_force)
    }

    /// Returns the notices that begin later, the published ones first.
    pub fn planned(&self) -> Vec<Notice> {
        self.filter(|notice, now| !notice.is_in_force(now) && !notice.has_ended(now))
    }

    fn filter(&self, is_wanted: impl Fn(&Notice, Timestamp) -> bool) -> Vec<Notice> {
        let (published, federation) = (self.published.all(), self.federation.load());
        let now = self.published.now();
        let all = published.iter().map(|one| &one.value).chain(federation.notices.iter());
        all.filter(|notice| is_wanted(notice, now)).cloned().collect()
    }

    /// Returns the notices that have not ended, the published ones first.
    pub fn rows(&self) -> Vec<NoticeRow> {
        let (published, federation) = (self.published.all(), self.federation.load());
        let now = self.published.now();
        let published = published.iter().map(|one| (Some(one.id.as_str()), &one.value));
        let all = published.chain(iter::repeat(None).zip(federation.notices.iter()));
        all.filter(|(_, notice)| !notice.has_ended(now))
            .map(|(id, notice)| NoticeRow::new(id, notice, now))
            .collect()
    }

    /// Checks a notice as [`Self::publish`] does, and publishes nothing.
    ///
    /// # Errors
    /// [`NoticeError::Invalid`].
    pub fn check(&self, table: NoticeTable) -> Result<Notice, NoticeError> {
        let notice = Notice::new(table).map_err(NoticeError::Invalid)?;
        let languages = &self.federation.load().languages;
        let is_shown = |tag: &str| languages.locales().any(|locale| locale.tag() == tag);
        let unknown = notice.text.keys().filter(|tag| !is_shown(tag)).map(|tag| {
            let fix = "use a language that the pages have";
            FieldDiagnostic::new(format!("text.{tag}"), "is not a language of the pages", fix)
        });
        let mut diagnostics: Vec<FieldDiagnostic> = unknown.collect();
        if notice.has_ended(self.published.now()) {
            let fix = "set a time in the future";
            diagnostics.push(FieldDiagnostic::new("until", "is in the past", fix));
        }
        if diagnostics.is_empty() { Ok(notice) } else { Err(NoticeError::Invalid(diagnostics)) }
    }

    /// Publishes a notice, which new pages of this hub show when this returns. Waits for the disk or
    /// the shared store.
    ///
    /// # Errors
    /// [`NoticeError`].
    pub async fn publish(
        &self,
        table: NoticeTable,
    ) -> Result<(NoticeRow, Persistence), NoticeError> {
        let mut notice = self.check(table)?;
        let now = Timestamp::from_seconds(self.published.now().seconds());
        notice.validity.not_before.get_or_insert(now);
        let (added, persistence) =
            self.published.add(notice).await.map_err(NoticeError::NotUpdated)?;
        Ok((self.row(&added), persistence))
    }

    /// Removes a published notice; `None` if none has this id. Waits as [`Self::publish`] does.
    ///
    /// # Errors
    /// [`EntryUpdateError`].
    pub async fn remove(
        &self,
        id: &str,
    ) -> Result<Option<(NoticeRow, Persistence)>, EntryUpdateError> {
        let removed = self.published.remove(id).await?;
        Ok(removed.map(|(removed, persistence)| (self.row(&removed), persistence)))
    }

    /// Returns why notices published at other hubs may be missing here.
    pub fn warning(&self) -> Option<CheckFinding> {
        self.published.warning()
    }

    fn row(&self, one: &RuntimeEntry<Notice>) -> NoticeRow {
        NoticeRow::new(Some(&one.id), &one.value, self.published.now())
    }
}

impl NoticeRow {
    /// Creates the row of a notice. `id` is `None` for a notice of the file.
    fn new(id: Option<&str>, notice: &Notice, now: Timestamp) -> Self {
        let NoticeTable { text, from, until, severity, link } = notice.to_table();
        Self {
            origin: if id.is_some() { EntryOrigin::Command } else { EntryOrigin::File },
            id: id.map(str::to_owned),
            text,
            severity,
            link,
            from,
            until,
            in_force: notice.is_in_force(now),
        }
    }

    /// Returns the fields as an operator writes them.
    pub fn to_table(&self) -> NoticeTable {
        let Self { text, from, until, severity, link, .. } = self.clone();
        NoticeTable { text, from, until, severity, link }
    }
}
