//! Determines which claims a request releases to its service provider, based on the provider's
//! current file.
//!
//! Does not depend on tokens or how a request was validated.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::Federation;
use crate::identity::scopes::{self, PartialDateFormat, ScopeTable};
use crate::identity::{Claim, ClaimName, Identity};
use passerelle_protocol::authorize::{AuthorizationRequest, RequestedClaims};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::ClientId;
use passerelle_protocol::registration::ProtocolRules;

/// The claims released by a request, by response.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReleasedClaims {
    /// Claims of the userinfo response.
    pub userinfo: BTreeSet<ClaimName>,
    /// Claims that the request names for the ID token.
    pub id_token: BTreeSet<ClaimName>,
    /// Claims that the request names as verified claims, for either.
    pub verified: BTreeSet<ClaimName>,
}

impl Federation {
    /// Returns the rules of a service provider, active or not; federation rules if it doesn't
    /// exist.
    pub fn rules_for(&self, client_id: &ClientId) -> ProtocolRules {
        self.service_provider(client_id)
            .map_or_else(ProtocolRules::default, |service| service.registration.rules)
    }

    /// Returns the scope table for `rules`.
    pub const fn scope_table(&self, rules: ProtocolRules) -> &ScopeTable {
        match rules {
            ProtocolRules::Federation => &self.scopes,
            ProtocolRules::Openid => &self.openid_scopes,
        }
    }

    /// Checks an accepted request against its service provider's current file.
    ///
    /// # Errors
    /// Fails like [`AuthorizationRequest::check_registration`].
    pub fn check_registration(&self, request: &AuthorizationRequest) -> Result<(), ErrorCode> {
        request.check_registration(
            self.service_provider(&request.client_id).map(|service| &service.registration),
        )
    }

    /// Returns the claims granted to a request: those of its scopes, and under `rules = "openid"`
    /// those named in `claims`, verified or not, if a scope of the service provider contains them. A scope that was
    /// revoked since the request releases nothing.
    pub fn released_claims(&self, request: &AuthorizationRequest) -> ReleasedClaims {
        let table = self.scope_table(self.rules_for(&request.client_id));
        let service = self.service_provider(&request.client_id);
        let granted = service.map_or(&[][..], |service| &service.registration.granted_scopes);
        let grantable = table.claim_names(granted);
        // `sub` is derived and part of every response.
        let is_granted = |claim: &ClaimName| grantable.contains(claim) && *claim != Claim::Sub;
        let requested = |names: &[String]| -> BTreeSet<ClaimName> {
            names.iter().map(|name| ClaimName::from_name(name)).filter(is_granted).collect()
        };
        let RequestedClaims { verified_userinfo, verified_id_token, .. } = &request.claims;
        let verified = verified_userinfo
            .iter()
            .chain(verified_id_token)
            .filter(|_| self.verified_claims.is_some())
            .flat_map(|request| request.claims.iter().flat_map(Map::keys))
            .map(|name| ClaimName::from_name(name))
            .filter(is_granted)
            .collect();
        let mut userinfo =
            table.claim_names(request.scopes.iter().filter(|scope| granted.contains(scope)));
        let id_token = requested(&request.claims.id_token);
        userinfo.extend(requested(&request.claims.userinfo));
        ReleasedClaims { userinfo, id_token, verified }
    }

    /// Returns the personal claims among those on a page: what consent must cover.
    pub fn consent_claims(&self, shown: &Map<String, Value>) -> BTreeSet<ClaimName> {
        let names = shown.keys().map(|name| ClaimName::from_name(name));
        names.filter(|claim| self.declared_claims.is_personal(claim)).collect()
    }

    /// Returns all claims that a request releases, in any response, with their values; without
    /// `sub`.
    pub fn released_claim_values(
        &self,
        request: &AuthorizationRequest,
        identity: &Identity,
    ) -> Map<String, Value> {
        let ReleasedClaims { mut userinfo, id_token, verified } = self.released_claims(request);
        userinfo.extend(id_token.into_iter().chain(verified));
        let date_format = match self.rules_for(&request.client_id) {
            ProtocolRules::Federation => PartialDateFormat::ZeroPadded,
            ProtocolRules::Openid => PartialDateFormat::YearOnly,
        };
        scopes::claim_values(&userinfo, identity, date_format)
    }
}
