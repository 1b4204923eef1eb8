//! Explains each parameter of a registered client's request.

use std::fmt::Write as _;

use super::displayable::displayable;
use super::fixes::{fix_for, fix_for_warning};
use super::{ExplanationContext, ParameterExplanation, ParameterStatus as Status};
use crate::acr::{AuthenticationRequirement, Level};
use crate::authorize::{
    AuthorizationRequest, Prompt, RequestMethod, ResponseMode, UNSUPPORTED, checks, claims,
    evaluate_acr_for_rules,
};
use crate::catalogue::{ErrorCode, Param, RequiredParam};
use crate::ids::Scope;
use crate::params::Params;
use crate::registration::{ConsentRequirement, ProtocolRules, Registration};

/// Status and message.
type Finding = (Status, String);

/// A request of a registered client, and what its parameters are checked against.
pub(super) struct ParameterCheck<'a> {
    pub params: &'a Params,
    pub method: RequestMethod,
    pub context: &'a ExplanationContext<'a>,
    pub registration: &'a Registration,
    /// The validated request; `None` if it is rejected.
    pub request: Option<&'a AuthorizationRequest>,
}

impl ParameterCheck<'_> {
    /// Explains one parameter; `None` if it is absent and has no effect.
    pub(super) fn explain(&self, param: Param) -> Option<ParameterExplanation> {
        match self.check(param) {
            Ok(finding) => finding.map(|(status, message)| ParameterExplanation {
                name: param.name().to_owned(),
                sent: sent_value(param, self.params),
                status,
                message,
                code: None,
                fix: fix_for_warning(param).filter(|_| status == Status::Warning),
            }),
            Err(code) => Some(rejected(param, self.params, code, Some(self.registration))),
        }
    }

    /// Returns `None` for a parameter that is absent and has no effect.
    fn check(&self, param: Param) -> Result<Option<Finding>, ErrorCode> {
        let value = self.params.once(param)?;
        match param {
            Param::ClientId => Ok(Some(accepted_finding(match self.registration.rules {
                ProtocolRules::Federation => "is registered; the federation's rules apply",
                ProtocolRules::Openid => {
                    "is registered; the rules of plain OpenID Connect apply (rules = \"openid\")"
                }
            }))),
            Param::RedirectUri => self.check_redirect_uri(value).map(Some),
            Param::ResponseType => {
                checks::check_response_type(self.params.required(RequiredParam::ResponseType)?)?;
                Ok(Some(accepted_finding("authorization code flow")))
            }
            Param::Scope => self.check_scope().map(Some),
            Param::AcrValues => self.check_level(value).map(Some),
            Param::State => self.check_state(value).map(Some),
            Param::Nonce => self.check_nonce(value).map(Some),
            Param::Prompt => self.check_prompt(value).map(Some),
            Param::ResponseMode => check_response_mode(value, self.registration).map(Some),
            Param::Claims => self.check_claims(value),
            Param::MaxAge => Ok(checks::parse_max_age(value)?.map(|seconds| {
                let effect =
                    format!("the user must have authenticated within the last {seconds} s");
                accepted_finding(format!(
                    "{effect}, or authenticates again; the ID token has auth_time"
                ))
            })),
            Param::CodeChallenge | Param::CodeChallengeMethod => self.check_pkce(param),
            _ => value.map_or(Ok(None), |value| self.check_sent(param, value).map(Some)),
        }
    }

    /// Explains a parameter that has no effect unless it is sent.
    fn check_sent(&self, param: Param, value: &str) -> Result<Finding, ErrorCode> {
        if let Some((_, code)) = UNSUPPORTED.iter().find(|(unsupported, _)| *unsupported == param) {
            return Err(*code);
        }
        let ignored = |message: &str| (Status::Ignored, message.to_owned());
        Ok(match param {
            Param::LoginHint if checks::parse_login_hint(Some(value)).is_none() => {
                ignored("is longer than 256 characters")
            }
            Param::LoginHint => accepted_finding(
                "is passed to the identity provider; an e-mail address of a connector's domain leads there",
            ),
            Param::IdTokenHint => accepted_finding(
                "the endpoint checks that it is an ID token of this hub for this client; this explanation doesn't",
            ),
            Param::IdpHint => self.check_idp_hint(value),
            Param::DpopJkt => {
                checks::parse_dpop_jkt(Some(value))?;
                accepted_finding("the code can be redeemed only with a DPoP proof of this key")
            }
            Param::UiLocales if checks::parse_ui_locales(Some(value)).is_empty() => {
                ignored("contains no language tag")
            }
            Param::UiLocales => {
                accepted_finding("the pages use the first of these languages that the hub has")
            }
            _ => ignored("has no effect at this hub"),
        })
    }

    fn check_redirect_uri(&self, value: Option<&str>) -> Result<Finding, ErrorCode> {
        checks::find_registered_redirect_uri(self.params, self.registration)?;
        let registered = &self.registration.redirect_uris;
        let is_exact = registered.iter().any(|uri| Some(uri.as_str()) == value);
        Ok(accepted_finding(if is_exact {
            "equals a registered address character for character"
        } else {
            "equals a registered loopback address except for the port, as public clients may"
        }))
    }

    fn check_scope(&self) -> Result<Finding, ErrorCode> {
        let sent = self.params.required(RequiredParam::Scope)?;
        checks::check_openid_scope(sent)?;
        let granted = checks::grant_scopes(sent, self.registration, self.context.directory)?;
        let describe = |scope: &Scope| {
            let claims = (self.context.scope_claims)(scope, self.registration.rules).join(", ");
            format!("{scope} releases {}", if claims.is_empty() { "nothing" } else { &claims })
        };
        let mut message = granted.iter().map(describe).collect::<Vec<_>>().join("; ");
        let unknown = checks::space_separated(sent)
            .filter(|word| !granted.iter().any(|scope| scope.as_str() == *word));
        let unknown: Vec<String> = unknown.take(10).map(displayable).collect();
        if !unknown.is_empty() {
            message.push_str("; unknown scopes are ignored: ");
            message.push_str(&unknown.join(", "));
        }
        let status = if unknown.is_empty() { Status::Accepted } else { Status::Warning };
        Ok((status, message))
    }

    /// Explains `acr_values` together with an essential `acr` in `claims`.
    fn check_level(&self, value: Option<&str>) -> Result<Finding, ErrorCode> {
        let Registration { rules, acr, .. } = self.registration;
        if *rules == ProtocolRules::Federation && acr.default_values.is_empty() {
            self.params.required(RequiredParam::AcrValues)?;
        }
        let claims = self.parse_claims().unwrap_or_default();
        let platform = self.context.platform;
        let sent = value.unwrap_or_default();
        let request = evaluate_acr_for_rules(sent, &claims, *rules, acr, platform)?;
        let levels = platform.levels().iter().map(|level| level.as_str());
        let names = acr.level_names.iter().map(|listed| &*listed.name);
        let accepted = levels.chain(names).collect::<Vec<_>>().join(", ");
        let mut message =
            format!("the login needs at least {}; accepted are {accepted}", request.level.as_str());
        for value in request.values.iter().filter(|value| value.multi_factor) {
            let name = value.name.as_deref().unwrap_or_default();
            let _infallible =
                write!(message, "; {name} is met by multi-factor authentication only");
        }
        Ok((if value.is_some() { Status::Accepted } else { Status::Default }, message))
    }

    fn check_state(&self, value: Option<&str>) -> Result<Finding, ErrorCode> {
        match self.registration.rules {
            ProtocolRules::Federation => {
                checks::STATE.check(self.params, self.method)?;
                Ok(self.accepted_opaque(&checks::STATE, value, "is returned unchanged"))
            }
            ProtocolRules::Openid => {
                checks::STATE.check_optional(value)?;
                let missing = "the application can't tell its own logins from forged ones";
                Ok(value.map_or_else(
                    || (Status::Warning, missing.into()),
                    |_| accepted_finding("is returned unchanged"),
                ))
            }
        }
    }

    fn check_nonce(&self, value: Option<&str>) -> Result<Finding, ErrorCode> {
        match self.registration.rules {
            ProtocolRules::Federation => {
                checks::NONCE.check(self.params, self.method)?;
                Ok(self.accepted_opaque(&checks::NONCE, value, "is copied to the ID token"))
            }
            ProtocolRules::Openid => {
                checks::NONCE.check_optional(value)?;
                Ok(value.map_or_else(
                    || (Status::Default, "the ID token has no nonce".into()),
                    |_| accepted_finding("is copied to the ID token"),
                ))
            }
        }
    }

    /// Accepts a `state` or `nonce` of sufficient length. The message says whether it would also
    /// suffice for POST.
    fn accepted_opaque(
        &self,
        rule: &checks::OpaqueParamRule,
        value: Option<&str>,
        effect: &str,
    ) -> Finding {
        let by_post = self.method == RequestMethod::Post
            || rule.check_length(value.unwrap_or_default(), RequestMethod::Post).is_ok();
        accepted_finding(if by_post {
            format!("{effect}; it is long enough for GET and POST")
        } else {
            format!("{effect}; it is long enough for GET, but not for POST")
        })
    }

    fn parse_claims(&self) -> Result<claims::ParsedClaims, ErrorCode> {
        claims::parse_claims(self.params.get(Param::Claims.name()), self.registration.rules)
    }

    fn check_claims(&self, value: Option<&str>) -> Result<Option<Finding>, ErrorCode> {
        let parsed = self.parse_claims()?;
        if value.is_none() {
            return Ok(None);
        }
        let mut effects = Vec::new();
        if parsed.requested.sub.is_some() {
            effects.push("only the user with this sub may log in");
        }
        if parsed.requested.amr {
            effects.push("amr is essential");
        }
        if parsed.acr.is_binding() {
            effects.push("acr is essential: the login fails unless one of its values is met");
        }
        if !parsed.requested.userinfo.is_empty() || !parsed.requested.id_token.is_empty() {
            effects.push("the named claims are released as far as a granted scope contains them");
        }
        Ok(Some(if effects.is_empty() {
            let message =
                "is well formed and has no effect; identity claims are requested by scope";
            (Status::Ignored, message.into())
        } else {
            (Status::Accepted, effects.join("; "))
        }))
    }

    fn check_prompt(&self, value: Option<&str>) -> Result<Finding, ErrorCode> {
        let Prompt { login, consent, none, select_account } =
            checks::parse_prompt(value, self.registration.rules)?;
        let mut effects = Vec::new();
        if none {
            effects.push("no page is shown: without a usable session, or if a page is due, the redirect URI receives an error such as login_required or consent_required");
        }
        effects.push(match login {
            true => "the user authenticates again at the identity provider",
            false if none => "a session is required",
            false => "a session at the hub is reused if it meets the request",
        });
        effects.push(match self.registration.consent {
            ConsentRequirement::Required => "the user must consent",
            _ if consent => "a page informs the user about the data",
            ConsentRequirement::Information => {
                "a page informs the user about the data, once in a session"
            }
            ConsentRequirement::None => "no page informs the user about the data",
        });
        if select_account {
            effects.push("the choice page is always shown");
        }
        let (status, default) = match value {
            Some(_) => (Status::Accepted, ""),
            None if login => (Status::Default, "login consent: "),
            None => (Status::Default, ""),
        };
        Ok((status, format!("{default}{}", effects.join("; "))))
    }

    /// Explains the challenge and its method, which are checked together; each error stands at the
    /// parameter that it concerns.
    fn check_pkce(&self, param: Param) -> Result<Option<Finding>, ErrorCode> {
        let value = |param: Param| self.params.get(param.name());
        let method = value(Param::CodeChallengeMethod);
        let checked =
            checks::validate_code_challenge(value(Param::CodeChallenge), method, self.registration);
        let is_method = param == Param::CodeChallengeMethod;
        match checked {
            Err(code) => {
                let concerns_method = matches!(
                    code,
                    ErrorCode::CodeChallengeMethodAlone
                        | ErrorCode::CodeChallengeMethodMissing
                        | ErrorCode::CodeChallengeMethodUnsupported
                );
                if concerns_method == is_method { Err(code) } else { Ok(None) }
            }
            Ok(Some(_)) if is_method => Ok(Some(accepted_finding("SHA-256 of the code_verifier"))),
            Ok(Some(_)) => Ok(Some(accepted_finding(
                "PKCE: the token request must send the code_verifier of this challenge",
            ))),
            Ok(None) if is_method => Ok(None),
            Ok(None) => {
                let message = "no PKCE: a stolen code can be redeemed by anyone who can authenticate as this client";
                Ok(Some((Status::Warning, message.into())))
            }
        }
    }

    fn check_idp_hint(&self, value: &str) -> (Status, String) {
        let named = checks::permitted_idp_hints(Some(value), self.registration);
        let connector = match named.as_slice() {
            [] => {
                let message = "is not the id of a connector that this service provider's file permits as a hint";
                return (Status::Ignored, message.into());
            }
            [connector] => connector,
            _ => {
                return (Status::Accepted, "the choice page shows these connectors only".into());
            }
        };
        let lowest = self.context.platform.levels().first().copied().unwrap_or(Level::Eidas1);
        let requirement = self.request.map_or_else(
            || AuthenticationRequirement::for_level(lowest),
            AuthorizationRequest::requirement,
        );
        let client_id = &self.registration.client_id;
        match (self.context.idp_unavailable_reason)(client_id, connector, requirement) {
            Some(reason) => (Status::Ignored, format!("{reason}; the choice page is shown")),
            None => {
                (Status::Accepted, "leads to this identity provider without the choice page".into())
            }
        }
    }
}

fn check_response_mode(
    value: Option<&str>,
    registration: &Registration,
) -> Result<Finding, ErrorCode> {
    let (status, message) = match checks::check_response_mode(value, registration)? {
        Some(ResponseMode::FormPost) => (Status::Accepted, "the response is posted by a form"),
        Some(ResponseMode::Query) => {
            (Status::Accepted, "the response is in the query of the redirect URI")
        }
        Some(ResponseMode::FormPostJwt) => {
            (Status::Accepted, "the response is a signed JWT, posted by a form")
        }
        Some(ResponseMode::QueryJwt) => {
            (Status::Accepted, "the response is a signed JWT, in the query of the redirect URI")
        }
        None => (Status::Default, "query: the response is in the query of the redirect URI"),
    };
    Ok((status, message.to_owned()))
}

fn accepted_finding(message: impl Into<String>) -> Finding {
    (Status::Accepted, message.into())
}

/// Returns the explanation of a rejected parameter.
pub(super) fn rejected(
    param: Param,
    params: &Params,
    code: ErrorCode,
    registration: Option<&Registration>,
) -> ParameterExplanation {
    let entry = code.entry();
    ParameterExplanation {
        name: param.name().to_owned(),
        sent: sent_value(param, params),
        status: Status::Rejected,
        message: entry.description.to_owned(),
        code: Some(entry.code),
        fix: Some(fix_for(param, code, registration)),
    }
}

/// Returns the value as it may be shown, or its length; `None` if it was not sent.
pub(super) fn sent_value(param: Param, params: &Params) -> Option<String> {
    let mut values = params.pairs().iter().filter(|(name, _)| name == param.name());
    let (_, first) = values.next()?;
    let more = values.count();
    if more > 0 {
        return Some(format!("{} values", more + 1));
    }
    let is_hidden = matches!(
        param,
        Param::State
            | Param::Nonce
            | Param::Claims
            | Param::LoginHint
            | Param::IdTokenHint
            | Param::Request
            | Param::RequestUri
            | Param::Registration
    );
    Some(match first.chars().count() {
        0 => "empty, which counts as not sent".to_owned(),
        1 if is_hidden => "1 character".to_owned(),
        length if is_hidden => format!("{length} characters"),
        _ => displayable(first),
    })
}
