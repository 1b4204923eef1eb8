//! Finds the parameters of an authorization request: in the request, in a request object (RFC
//! 9101), or pushed before (RFC 9126).
//!
//! Responsible for who may use a pushed request, and for the moment in which a pushed request or a
//! request object is used: when its login is stored. Until then a reload, or a hub that is too
//! busy, costs the user nothing. Afterwards the same browser is led to that login, and any other
//! gets an error.

pub mod pushed;

use std::borrow::Cow;
use std::sync::Arc;

use self::pushed::StoredRequests;
use super::HubCore;
use super::error::ParameterSourceError;
use super::hint::IdTokenHints;
use super::request_object::{RequestObjects, ValidRequestObject};
use super::response_signer::ResponseSigner;
use super::used_jtis::UsedJti;
use passerelle_federation::ServiceProvider;
use passerelle_protocol::authorize::AuthorizationRequest;
use passerelle_protocol::authorize::parameter_source::ParameterSource;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::{ClientId, InteractionHash, Subject};
use passerelle_protocol::params::Params;
use passerelle_store::RecordKey;

/// The parameters of an authorization request, wherever they were.
#[derive(Debug)]
pub struct ResolvedRequest<'p> {
    pub params: Cow<'p, Params>,
    /// What must be marked as used when the login is stored; `None` for parameters in the request
    /// itself.
    pub single_use: Option<SingleUse>,
}

/// A request that starts one login at most.
#[derive(Clone, Debug)]
pub struct SingleUse(SingleUseRecord);

#[derive(Clone, Debug)]
enum SingleUseRecord {
    Pushed(RecordKey),
    Object(ClientId, UsedJti),
}

/// Authorization requests, wherever their parameters are.
pub struct AuthorizationRequests {
    pub(super) core: Arc<HubCore>,
    pub(super) hints: Arc<IdTokenHints>,
    pub(super) signer: Arc<ResponseSigner>,
    pub(super) objects: RequestObjects,
    pub(super) stored: StoredRequests,
}

impl AuthorizationRequests {
    /// Finds the parameters of a request at the authorization endpoint. A request that has them
    /// itself costs no store call.
    ///
    /// # Errors
    /// `Used`, or the code of the first check that fails.
    pub async fn resolve<'p>(
        &self,
        params: &'p Params,
    ) -> Result<ResolvedRequest<'p>, ParameterSourceError> {
        if let Some(client_id) = params.get("client_id") {
            self.core.ensure_client_known(client_id).await?;
        }
        let Some((client, source)) = self.find_source(params)? else {
            return Ok(ResolvedRequest { params: Cow::Borrowed(params), single_use: None });
        };
        let client_id = &client.registration.client_id;
        match source {
            ParameterSource::Pushed(reference) => {
                self.stored.load(client_id, reference, self.core.env.now()).await
            }
            ParameterSource::Object(object, algs) => {
                let valid = self.objects.validate(&client, object, algs, params).await?;
                self.unused_request(client_id, valid).await
            }
            ParameterSource::Request => Err(ErrorCode::Internal.into()),
        }
    }

    /// Returns the client and the source of its parameters, unless they are in the request.
    fn find_source<'p>(
        &self,
        params: &'p Params,
    ) -> Result<Option<(Arc<ServiceProvider>, ParameterSource<'p>)>, ErrorCode> {
        let federation = self.core.federation.load();
        // An unknown client is rejected by the checks.
        let client = params.get("client_id").and_then(|id| federation.client_named(id));
        let Some(client) = client.filter(|client| client.registration.active) else {
            return Ok(None);
        };
        match ParameterSource::find(params, client.registration.protection)? {
            ParameterSource::Request => Ok(None),
            source => Ok(Some((Arc::clone(client), source))),
        }
    }

    /// Marks a request as used by this login. At most one login gets it, on any hub.
    ///
    /// # Errors
    /// `Used` if another login was faster; `StoreFull`, `StoreUnavailable`.
    pub async fn mark_used(
        &self,
        SingleUse(record): &SingleUse,
        login: &InteractionHash,
    ) -> Result<(), ParameterSourceError> {
        let login = login.as_str().as_bytes();
        match record {
            SingleUseRecord::Pushed(key) => {
                self.stored.mark_used(key, login, self.core.env.now()).await
            }
            SingleUseRecord::Object(client_id, used) => {
                self.objects.mark_used(client_id, used, login).await
            }
        }
    }

    /// Checks that the hub can answer this valid request: that its hint is an ID token of the hub,
    /// and that every response can be signed and encrypted now. Returns the users that it asks for.
    ///
    /// # Errors
    /// `IdTokenHintInvalid`, `ClientKeysMissing`, `KeyDeviceUnavailable`.
    pub fn check_answerable(
        &self,
        request: &AuthorizationRequest,
    ) -> Result<Vec<Subject>, ErrorCode> {
        let subjects = self.hints.requested_subjects(request)?;
        self.signer.check_request_keys(request)?;
        Ok(subjects)
    }

    /// Returns the parameters of a request object in the address, unless it was used before. There
    /// it must have a `jti`: anyone who sees the address could start a login with it again.
    async fn unused_request(
        &self,
        client_id: &ClientId,
        ValidRequestObject { params, used }: ValidRequestObject,
    ) -> Result<ResolvedRequest<'static>, ParameterSourceError> {
        let used = used.ok_or(ErrorCode::RequestObjectJti)?;
        self.objects.check_unused(&used).await?;
        let single_use = Some(SingleUse(SingleUseRecord::Object(client_id.clone(), used)));
        Ok(ResolvedRequest { params: Cow::Owned(params), single_use })
    }
}
