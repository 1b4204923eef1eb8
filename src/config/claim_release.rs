//! What one request lets its service provider know of a person, by what the service provider's file grants now.
//!
//! Owns: which claims are released, and where they are told. Must not know: values, tokens, how a request was judged.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::Federation;
use crate::identity::scopes::{self, Presumed, ScopeTable};
use crate::identity::{Claim, Identity};
use crate::ids::ClientId;
use crate::protocol::authorize::AuthorizationRequest;
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::registration::Rules;

/// Which claims an answer may hold, by the place where they are told.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Release {
    pub userinfo: BTreeSet<Claim>,
    /// Beside those that every ID token has.
    pub id_token: BTreeSet<Claim>,
}

impl Federation {
    /// The rules of a service provider, active or not; the federation's for one that isn't there.
    #[must_use]
    pub fn rules(&self, client_id: &ClientId) -> Rules {
        self.service(client_id).map_or_else(Rules::default, |service| service.registration.rules)
    }

    /// True if some service provider is under `rules = "openid"`.
    #[must_use]
    pub fn serves_openid(&self) -> bool {
        self.services().any(|service| service.registration.rules == Rules::Openid)
    }

    #[must_use]
    pub const fn scope_table(&self, rules: Rules) -> &ScopeTable {
        match rules {
            Rules::Federation => &self.scopes,
            Rules::Openid => &self.openid_scopes,
        }
    }

    /// Proves what a request was admitted with against its service provider's file as it is now.
    ///
    /// # Errors
    /// As [`AuthorizationRequest::check_registration`].
    pub fn check_registration(&self, request: &AuthorizationRequest) -> Result<(), ErrorCode> {
        request.check_registration(
            self.service(&request.client_id).map(|service| &service.registration),
        )
    }

    /// The claims that a request is granted: those of its scopes, and under `rules = "openid"` those that `claims`
    /// names, if one of the service provider's scopes has them (decisions 3, Rules per SP, 6). A scope that was withdrawn
    /// since the request releases nothing.
    #[must_use]
    pub fn release(&self, request: &AuthorizationRequest) -> Release {
        let table = self.scope_table(self.rules(&request.client_id));
        let service = self.service(&request.client_id);
        let granted = service.map_or(&[][..], |service| &service.registration.granted_scopes);
        let grantable = table.claim_names(granted);
        let asked = |names: &[String]| -> BTreeSet<Claim> {
            let known = names.iter().filter_map(|name| Claim::named(name));
            // `sub` is in every answer, and derived.
            known.filter(|claim| grantable.contains(claim) && *claim != Claim::Sub).collect()
        };
        let mut userinfo =
            table.claim_names(request.scopes.iter().filter(|scope| granted.contains(scope)));
        let mut id_token = asked(&request.claims.id_token);
        if service.is_some_and(|service| service.id_token_claims) {
            id_token.extend(userinfo.iter().copied().filter(|claim| *claim != Claim::Sub));
        }
        userinfo.extend(asked(&request.claims.userinfo));
        Release { userinfo, id_token }
    }

    /// All that a request lets its service provider know of a person, wherever it is told; `sub` aside.
    #[must_use]
    pub fn claims(
        &self,
        request: &AuthorizationRequest,
        identity: &Identity,
    ) -> Map<String, Value> {
        let Release { mut userinfo, id_token } = self.release(request);
        userinfo.extend(id_token);
        let presumed = match self.rules(&request.client_id) {
            Rules::Federation => Presumed::Zeros,
            Rules::Openid => Presumed::YearAlone,
        };
        scopes::delivered(&userinfo, identity, presumed)
    }
}
