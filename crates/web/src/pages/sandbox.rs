//! The form of the sandbox identity provider: test user, level, methods, simulated failure.

use super::HiddenField;
use super::locale::PageMessages as _;
use passerelle_localization::OperatorText;

/// The sandbox form: one `person`, `level` and `failure`, a `method` for each selected one, and the
/// hidden fields.
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

page_template!(SandboxPage, "sandbox.html", |_, t| t.text("sandbox-title"));
