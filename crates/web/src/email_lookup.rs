//! Defines the state of the choice page's question for an e-mail address.

use passerelle_protocol::email_domain::EmailDomain;

/// State of the choice page's question for an e-mail address.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum EmailLookup {
    /// Nothing: the page asks for one, if the operator enables it.
    #[default]
    NotAsked,
    /// The text is not an address.
    Malformed,
    /// The address has this domain.
    Domain(EmailDomain),
    /// The user wants the list instead.
    List,
}
