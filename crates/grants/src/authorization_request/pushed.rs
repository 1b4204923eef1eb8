//! Pushed authorization requests: validates them, and stores them until the browser brings their
//! reference (RFC 9126).

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use super::{AuthorizationRequests, ResolvedRequest, SingleUse, SingleUseRecord};
use crate::client::ClientAuthenticator;
use crate::error::{GrantError, ParameterSourceError};
use crate::records::{hashed_key, load_record, new_record};
use crate::request_object::ValidRequestObject;
use crate::sender::{AcceptedProof, ProofTarget, SenderVerifier};
use crate::store_quota::{ClientStoreQuota, StoreQuota};
use passerelle_federation::ServiceProvider;
use passerelle_protocol::authorize::parameter_source::ParameterSource;
use passerelle_protocol::authorize::pushed::{PushedRequest, PushedResponse};
use passerelle_protocol::authorize::{AuthorizationError, RequestMethod, validate_request};
use passerelle_protocol::catalogue::{ErrorCode, Param};
use passerelle_protocol::client_network::ClientNetwork;
use passerelle_protocol::discovery::path;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::ClientId;
use passerelle_protocol::params::Params;
use passerelle_protocol::registration::ClientDirectory as _;
use passerelle_protocol::sender_constraint::DpopHeader;
use passerelle_store::{NewRecord, RecordKey, RecordKind, Store, TakeOutcome, Usage};

/// How long a pushed request waits for the browser (RFC 9126 §2.2 suggests 5 to 600 seconds).
const PUSHED_REQUEST_LIFETIME: Duration = Duration::from_secs(60);
/// How long a used request leads its browser to the login.
const USED_REQUEST_RETENTION: Duration = Duration::from_secs(300);
/// Maximum size of a stored request.
const MAX_PUSHED_REQUEST_BYTES: usize = 16 * 1024;

/// Networks that fill the share of one public client, if each pushes as much as it may.
const NETWORKS_PER_CLIENT: usize = 8;

/// The requests in the store, and what each client, and each network that pushes in the name of
/// public clients, may have of it.
pub(crate) struct StoredRequests {
    store: Arc<dyn Store>,
    per_client: ClientStoreQuota,
    per_network: StoreQuota<ClientNetwork>,
}

/// Whose share of the store a request takes.
struct RequestOwner<'a> {
    client_id: &'a ClientId,
    /// The network of a sender that proves nothing.
    stranger: Option<ClientNetwork>,
}

impl RequestOwner<'_> {
    /// Returns the network, unless it is a proxy's: all users share that.
    fn counted_network(&self) -> Option<ClientNetwork> {
        self.stranger.filter(|network| !network.is_private())
    }
}

impl StoredRequests {
    /// Gives each client half of the store's capacity, and all registered clients together the
    /// same.
    pub(crate) fn new(store: Arc<dyn Store>, capacity: Usage) -> Self {
        let share = |divisor: usize| Usage {
            records: capacity.records.div_ceil(divisor),
            bytes: capacity.bytes.div_ceil(divisor),
        };
        Self {
            store,
            per_client: ClientStoreQuota::new(share(2)),
            per_network: StoreQuota::new(share(2 * NETWORKS_PER_CLIENT)),
        }
    }

    fn has_capacity(&self, owner: &RequestOwner<'_>, bytes: usize, now: Timestamp) -> bool {
        let network = owner.counted_network();
        self.per_client.has_capacity(owner.client_id, bytes, now)
            && network.is_none_or(|network| self.per_network.has_capacity(&network, bytes, now))
    }

    /// Stores a request, and returns its reference.
    async fn insert(
        &self,
        owner: &RequestOwner<'_>,
        reference: &str,
        record: NewRecord,
        now: Timestamp,
    ) -> Result<(), ErrorCode> {
        let (until, bytes) = (record.expires_at, record.value.len());
        self.store.insert(request_key(owner.client_id, reference), record, now).await?;
        self.per_client.reserve(owner.client_id, bytes, until, now);
        if let Some(network) = owner.counted_network() {
            self.per_network.reserve(&network, bytes, until, now);
        }
        Ok(())
    }

    /// Removes a request whose reference was never sent.
    async fn remove(&self, client_id: &ClientId, reference: &str) {
        if let Err(error) = self.store.remove(&request_key(client_id, reference)).await {
            tracing::warn!(%client_id, %error, "rejected pushed request not removed; it expires");
        }
    }

    /// Returns the request with this reference.
    ///
    /// # Errors
    /// `Used` with the login that used it before; `RequestUriUnknown`, or the error of the store.
    pub(crate) async fn load(
        &self,
        client_id: &ClientId,
        reference: &str,
        now: Timestamp,
    ) -> Result<ResolvedRequest<'static>, ParameterSourceError> {
        let key = request_key(client_id, reference);
        if let Some((pairs, _)) = load_record(&*self.store, &key, now).await? {
            let single_use = Some(SingleUse(SingleUseRecord::Pushed(key)));
            return Ok(ResolvedRequest { params: Cow::Owned(Params::new(pairs)), single_use });
        }
        // A tombstone names the login.
        match self.store.take(&key, Vec::new(), now, now).await? {
            TakeOutcome::AlreadyTaken(login) => {
                Err(ParameterSourceError::used_by(&login, ErrorCode::RequestUriUsed))
            }
            TakeOutcome::Taken(_) | TakeOutcome::Gone => Err(ErrorCode::RequestUriUnknown.into()),
        }
    }

    /// Marks a request as used by this login.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub(crate) async fn mark_used(
        &self,
        key: &RecordKey,
        login: &[u8],
        now: Timestamp,
    ) -> Result<(), ParameterSourceError> {
        match self.store.take(key, login.to_vec(), now + USED_REQUEST_RETENTION, now).await? {
            TakeOutcome::Taken(_) => Ok(()),
            TakeOutcome::AlreadyTaken(login) => {
                Err(ParameterSourceError::used_by(&login, ErrorCode::RequestUriUsed))
            }
            TakeOutcome::Gone => Err(ErrorCode::RequestUriUnknown.into()),
        }
    }
}

/// Returns the key of a request. It is bound to the client, so that no other client can use it
/// (RFC 9126 §2.2).
fn request_key(client_id: &ClientId, reference: &str) -> RecordKey {
    hashed_key(RecordKind::PUSHED_REQUEST, &format!("{client_id}\n{reference}"))
}

/// The pushed authorization request endpoint (RFC 9126 §2).
pub struct PushedRequestEndpoint {
    pub(crate) requests: Arc<AuthorizationRequests>,
    pub(crate) authenticator: Arc<ClientAuthenticator>,
    pub(crate) senders: Arc<SenderVerifier>,
}

impl PushedRequestEndpoint {
    /// Validates and stores a pushed request (RFC 9126 §2). `stranger` is the network of a sender
    /// that proves nothing: that of a public client.
    ///
    /// # Errors
    /// Those of the client's authentication; the first failed check of the parameters, as at the
    /// authorization endpoint; `TooManyPushedRequests`, `PushedRequestTooLarge`, `StoreFull`, `StoreUnavailable`.
    pub async fn push(
        &self,
        request: &PushedRequest,
        stranger: Option<ClientNetwork>,
    ) -> Result<PushedResponse, GrantError> {
        let AuthorizationRequests { core, stored, .. } = &*self.requests;
        let client = self.authenticator.authenticate(&request.credentials).await?;
        let client_id = &client.registration.client_id;
        let pushing = async {
            let ValidRequestObject { params, used } = self.pushed_params(&client, request).await?;
            // Before the proof, whose signature costs more: anyone can push for a public client.
            self.check_pushed_params(&params)?;
            let (params, proof) = self.bind_to_dpop_key(&client, params, request.dpop.as_ref())?;
            let now = core.env.now();
            let record = new_record(&params.pairs(), now + PUSHED_REQUEST_LIFETIME)?;
            if record.value.len() > MAX_PUSHED_REQUEST_BYTES {
                return Err(ErrorCode::PushedRequestTooLarge);
            }
            // Checked before the store, whose capacity is shared by all clients.
            let owner = RequestOwner { client_id, stranger };
            if !stored.has_capacity(&owner, record.value.len(), now) {
                return Err(ErrorCode::TooManyPushedRequests);
            }
            if let Some(proof) = proof {
                self.senders.use_dpop_proof(client_id, &proof).await?;
            }
            let reference = core.env.entropy().token();
            stored.insert(&owner, &reference, record, now).await?;
            // Last: a client repeats a request with the same object if the hub asks for a nonce, or
            // is busy.
            if let Some(used) = used
                && let Err(error) = self.requests.objects.mark_used(client_id, &used, b"").await
            {
                stored.remove(client_id, &reference).await;
                return Err(error.code());
            }
            Ok(reference)
        };
        let reference = pushing.await.map_err(|code| GrantError::for_client(client_id, code))?;
        Ok(PushedResponse::new(&reference, PUSHED_REQUEST_LIFETIME.as_secs()))
    }

    async fn pushed_params(
        &self,
        client: &ServiceProvider,
        request: &PushedRequest,
    ) -> Result<ValidRequestObject, ErrorCode> {
        let registration = &client.registration;
        let federation = self.requests.core.federation.load();
        let params =
            request.authorization_params(&registration.client_id, federation.forwarded_params());
        match ParameterSource::find_in_push(&params, registration.protection)? {
            ParameterSource::Request | ParameterSource::Pushed(_) => {
                Ok(ValidRequestObject { params, used: None })
            }
            ParameterSource::Object(object, algs) => {
                self.requests.objects.validate(client, object, algs, &params).await
            }
        }
    }

    /// Binds the code to the key of the request's DPoP proof, as `dpop_jkt` would (RFC 9449 §10.1).
    fn bind_to_dpop_key(
        &self,
        client: &ServiceProvider,
        params: Params,
        header: Option<&DpopHeader>,
    ) -> Result<(Params, Option<AcceptedProof>), ErrorCode> {
        // Ignored as at the token endpoint, where the certificate counts.
        let header = header.filter(|_| !client.token_binding.certificate_required);
        let Some(header) = header else { return Ok((params, None)) };
        let target =
            ProofTarget { path: path::PUSHED_REQUEST, access_token: None, thumbprint: None };
        let proof = self.senders.verify_dpop_proof(client, header, target)?;
        let name = Param::DpopJkt.name();
        let params = match params.get(name) {
            Some(jkt) if jkt == proof.thumbprint => params,
            Some(_) => return Err(ErrorCode::DpopJktMismatch),
            None => {
                let bound = (name.to_owned(), proof.thumbprint.clone());
                Params::new(params.pairs().iter().cloned().chain([bound]).collect())
            }
        };
        Ok((params, Some(proof)))
    }

    /// Makes the checks of the authorization endpoint, so that the client gets the error and not
    /// the user. The endpoint repeats them, because the registration may change in between.
    fn check_pushed_params(&self, params: &Params) -> Result<(), ErrorCode> {
        let core = &self.requests.core;
        let federation = core.federation.load();
        let (platform, issuer) = (core.platform, &core.issuer);
        // The browser brings the request by GET.
        let request =
            validate_request(params, RequestMethod::Get, platform, issuer, federation.as_ref());
        let request = request.map_err(|error| match error {
            AuthorizationError::Page(code) | AuthorizationError::Redirect(_, code) => code,
        })?;
        self.requests.check_answerable(&request).map(drop)
    }
}
