//! The form of the sandbox identity provider: test user, level, methods, simulated failure.

use super::locale::PageMessages as _;
use super::{HiddenField, Locale};
use passerelle_hub::{SandboxOffer, SandboxUser};
use passerelle_localization::OperatorText;
use passerelle_protocol::acr::Level;

/// The sandbox form: one `person`, `level` and `failure`, a `method` for each selected one, and the
/// hidden fields. Without levels or methods to choose it has no such field.
#[derive(Clone, Debug)]
pub struct SandboxPage {
    /// Name of the connector.
    pub provider: OperatorText,
    /// URL that the form posts to.
    pub action: String,
    pub hidden: Vec<HiddenField>,
    pub persons: Vec<SandboxOption>,
    pub levels: Vec<SandboxOption>,
    pub methods: Vec<SandboxOption>,
    /// The first one is "no failure".
    pub failures: Vec<SandboxOption>,
}

/// An option of the sandbox form.
#[derive(Clone, Debug)]
pub struct SandboxOption {
    pub id: String,
    /// In the page's language.
    pub label: String,
    /// Value of the standard, shown beside the label.
    pub value: Option<String>,
    /// Second line.
    pub hint: Option<OperatorText>,
    /// Whether it is initially selected.
    pub is_selected: bool,
}

impl SandboxPage {
    /// Returns the form of what a sandbox offers, without its address and hidden fields. The requested
    /// level is selected, and lower levels carry a hint that they are too low.
    pub fn new(
        locale: &Locale,
        provider: OperatorText,
        requested: Option<Level>,
        offer: &SandboxOffer,
    ) -> Self {
        let requested = requested.or(offer.levels.first().copied());
        let option = |id: &str, label: String, is_selected| SandboxOption {
            id: id.to_owned(),
            label,
            value: None,
            hint: None,
            is_selected,
        };
        let failure = |id: &&str| option(id, locale.sandbox_failure_label(id), false);
        let level = |level: &Level| SandboxOption {
            hint: (Some(*level) < requested).then(|| locale.sandbox_level_too_low().into()),
            ..option(level.as_str(), locale.sandbox_level_label(*level), Some(*level) == requested)
        };
        let person = |person: &SandboxUser, is_selected| SandboxOption {
            hint: Some(locale.localize(&person.hint).into())
                .filter(|hint: &OperatorText| !hint.is_empty()),
            ..option(&person.id, person.label.clone(), is_selected)
        };
        let method = |method: &&str| SandboxOption {
            value: Some((*method).to_owned()),
            ..option(method, locale.method_label(method).unwrap_or_default(), *method == "pwd")
        };
        Self {
            provider,
            action: String::new(),
            hidden: Vec::new(),
            persons: offer.users.iter().enumerate().map(|(n, one)| person(one, n == 0)).collect(),
            levels: offer.levels.iter().map(level).collect(),
            methods: offer.methods.iter().map(method).collect(),
            failures: std::iter::once(option("", locale.sandbox_failure_label("none"), true))
                .chain(offer.failures.iter().map(failure))
                .collect(),
        }
    }

    /// Selects the person with this id instead of the first one. An id of no person changes nothing.
    pub fn select_person(&mut self, id: &str) {
        if self.persons.iter().any(|person| person.id == id) {
            for person in &mut self.persons {
                person.is_selected = person.id == id;
            }
        }
    }
}

page_template!(SandboxPage, "sandbox.html", |_, t| t.text("sandbox-title"));
