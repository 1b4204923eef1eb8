//! An act of an operator by a form of the console: what it is called with, what it asks, and what it
//! says afterwards.

use std::collections::BTreeMap;

use actix_web::HttpRequest;
use futures_util::future::LocalBoxFuture;

use super::AdminApi;
use super::operators::{AdminRequester, validate_reason};
use super::responses::AdminError;
use passerelle_protocol::catalogue::ErrorCode;

/// Field of a form whose act the operator has confirmed.
pub const CONFIRMED: &str = "confirmed";

/// An act of an operator by a form of the console.
#[derive(Clone, Copy)]
pub struct ConsoleAct {
    /// Last part of the path of its form.
    pub name: &'static str,
    /// Says what it will do, which the operator confirms. `None` if the page with the form
    /// says it.
    pub confirm: Option<for<'a> fn(&'a ActRequest<'a>) -> ActFuture<'a, ActConfirmation>>,
    /// Does it. The future belongs to one worker, as each request does.
    pub perform: for<'a> fn(&'a ActRequest<'a>) -> ActFuture<'a, ActOutcome>,
}

/// A step of an act.
pub type ActFuture<'a, T> = LocalBoxFuture<'a, Result<T, AdminError>>;

/// What an act will do, for the operator to confirm.
#[derive(Debug)]
pub struct ActConfirmation {
    /// The heading: a question.
    pub question: String,
    /// Names and values of what the operator entered.
    pub facts: Vec<(String, String)>,
    /// Fields that the confirmation sends beside those of the form.
    pub fields: Vec<(&'static str, String)>,
    /// What follows from it.
    pub consequence: &'static str,
    /// The word of the button.
    pub button: &'static str,
}

/// What was done.
#[derive(Debug)]
pub struct ActOutcome {
    pub message: String,
    /// Address and name of the page that shows it.
    pub see: Option<(String, String)>,
}

impl ActOutcome {
    /// Creates an outcome that the overview shows.
    pub const fn new(message: String) -> Self {
        Self { message, see: None }
    }
}

/// A form that passed its checks, with what an act needs.
pub struct ActRequest<'a> {
    pub admin: &'a AdminApi,
    pub request: &'a HttpRequest,
    pub by: &'a AdminRequester,
    pub form: &'a ActionForm,
}

/// The fields of a form that comes from a page of the console.
pub struct ActionForm(Vec<(String, String)>);

impl ActionForm {
    /// Parses the body of a form.
    pub fn parse(body: &[u8]) -> Self {
        Self(url::form_urlencoded::parse(body).into_owned().collect())
    }

    /// Returns a field that is not empty.
    pub fn field(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.trim_ascii());
        found.filter(|value| !value.is_empty())
    }

    /// Returns the reason, which the audit log records.
    ///
    /// # Errors
    /// `ReasonMissing`.
    pub fn reason(&self) -> Result<&str, AdminError> {
        let reason = self.field("reason").and_then(validate_reason);
        reason.ok_or_else(|| ErrorCode::ReasonMissing.into())
    }

    /// Returns the lines of a field that are not empty.
    pub fn lines(&self, name: &str) -> impl Iterator<Item = &str> {
        let lines = self.field(name).unwrap_or_default().lines().map(str::trim_ascii);
        lines.filter(|line| !line.is_empty())
    }

    /// Returns the text of each language: the fields `message.fr`, `message.en` for `message`.
    pub fn texts(&self, name: &str) -> BTreeMap<String, String> {
        let languages = self.0.iter().filter_map(|(key, _)| {
            let language = key.strip_prefix(name)?.strip_prefix('.')?;
            Some((language.to_owned(), self.field(key)?.to_owned()))
        });
        languages.collect()
    }

    /// Returns a time in RFC 3339: the browser's field has no time zone, and the page says UTC.
    pub fn time(&self, name: &str) -> Option<String> {
        let entered = self.field(name)?;
        let seconds = if entered.matches(':').count() == 1 { ":00" } else { "" };
        Some(format!("{entered}{seconds}Z"))
    }

    /// Returns the fields that the page of the confirmation sends again.
    pub fn confirmed_fields(&self) -> impl Iterator<Item = (&str, &str)> {
        let fields = self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        fields.filter(|(name, _)| *name != CONFIRMED).chain([(CONFIRMED, "yes")])
    }
}
