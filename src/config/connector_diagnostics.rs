//! What `check` and a start say of a connector whose file is well formed: what it refuses, and what deserves a warning.

use std::collections::BTreeMap;
use std::path::Path;

use super::connectors::ConfiguredConnector;
use super::model::{ConnectorFile, ConnectorKind, Settings, SubjectSource};
use super::problem::Problem;
use super::source::{Source, problem_of_file};
use crate::ids::ConnectorId;
use crate::protocol::acr::{Level, Platform};

/// Connectors whose category has no heading: they are shown under the rest.
pub fn without_category(
    connectors: &BTreeMap<ConnectorId, ConfiguredConnector>,
    settings: &Settings,
) -> Vec<Problem> {
    let known = |id: &str| settings.choice.categories.iter().any(|category| category.id == id);
    let unknown = connectors
        .values()
        .filter(|connector| connector.file.category.as_deref().is_some_and(|id| !known(id)));
    let warning = |connector: &ConfiguredConnector| {
        unknown_category(&settings.connectors.join(format!("{}.toml", connector.id)))
    };
    unknown.map(warning).collect()
}

/// With `subject = "pivot"` an identity provider decides whom its user is, register or not: one whose users edit their own
/// attributes would let each of them be anybody. So `check` refuses a connector that doesn't say that it verifies them. The
/// sandbox lets anyone be anyone on purpose.
#[must_use]
pub fn check_identity(
    source: &Source,
    file: &ConnectorFile,
    subject: SubjectSource,
) -> Option<Problem> {
    (subject == SubjectSource::Pivot && !file.proves_identity()).then(|| {
        let what = "is missing, and subject = \"pivot\" takes who a person is from the claims of this identity provider: if its \
            users can edit them, any of them can sign in as anybody";
        let mend = "write identity = \"verified\" if it checks names and birth data by documents or in person, or remove this \
            connector, or set subject = \"provider\" in passerelle.toml";
        source.problem("identity", what, mend)
    })
}

/// A category that the choice page has no heading for.
pub fn unknown_category(path: &Path) -> Problem {
    let what =
        "is a category without a heading: the choice page shows this connector under the rest";
    let mend =
        "add it to [choice] categories in passerelle.toml, or use the id of one that is there";
    Problem { key: "category".into(), ..problem_of_file(path, what, mend) }
}

/// What holds, but is for tests only, or of no use on this platform.
pub fn warnings(path: &Path, file: &ConnectorFile, platform: Platform) -> Vec<Problem> {
    let mut warnings = Vec::new();
    let lowest = platform.levels().first().copied().unwrap_or(Level::Eidas1);
    let highest = platform.levels().last().copied().unwrap_or(Level::Eidas3);
    if file.levels.lowest > highest {
        let what = format!(
            "is above {}, the most that this platform asks: everybody is asked for more",
            highest.as_str()
        );
        let mend = format!("write lowest = \"{}\", unless that is meant", highest.as_str());
        warnings
            .push(Problem { key: "levels.lowest".into(), ..problem_of_file(path, &what, &mend) });
    }
    if file.levels.highest < lowest {
        let what = format!(
            "is below {}, the least that this platform asks: nobody can choose it",
            lowest.as_str()
        );
        let mend = "remove the file, or raise levels if the identity provider proves more";
        warnings
            .push(Problem { key: "levels.highest".into(), ..problem_of_file(path, &what, mend) });
    }
    if !file.kind.reauthenticates() {
        let what = "gives no proof of when a person authenticated: requests with prompt=login, the default under federation rules, \
            and with max_age are not offered this identity provider";
        let mend = "set reauthenticates = true beside auth_time if you know that it authenticates the person each time";
        let key = match &file.kind {
            ConnectorKind::Oauth2(_) => "kind.oauth2.auth_time",
            ConnectorKind::Oidc(_) | ConnectorKind::Ldap(_) | ConnectorKind::Persona(_) => {
                "kind.oidc.auth_time"
            }
        };
        warnings.push(Problem { key: key.into(), ..problem_of_file(path, what, mend) });
    }
    let without_tls = match &file.kind {
        ConnectorKind::Oidc(oidc) if oidc.insecure_http => Some("kind.oidc.insecure_http"),
        ConnectorKind::Oauth2(kind) if kind.insecure_http => Some("kind.oauth2.insecure_http"),
        ConnectorKind::Ldap(kind) if kind.insecure_ldap => Some("kind.ldap.insecure_ldap"),
        ConnectorKind::Oidc(_)
        | ConnectorKind::Oauth2(_)
        | ConnectorKind::Ldap(_)
        | ConnectorKind::Persona(_) => None,
    };
    if let Some(key) = without_tls {
        let what = "lets this identity provider be reached without TLS";
        let warning = problem_of_file(path, what, "never use it in production");
        warnings.push(Problem { key: key.into(), ..warning });
    }
    warnings
}
