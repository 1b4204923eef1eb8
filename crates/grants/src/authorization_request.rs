//! Finds the parameters of an authorization request: in the request, in a request object (RFC
//! 9101), or pushed before (RFC 9126).
//!
//! Responsible for storing pushed requests, for who may use one, and for the moment in which a
//! pushed request or a request object is used: when its login is stored. Until then a reload, or a
//! hub that is too busy, costs the user nothing. Afterwards the same browser is led to that login,
//! and any other gets an error.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use super::TokenService;
use super::dpop::{AcceptedProof, ProofTarget};
use super::error::GrantError;
use super::records::{new_record, pushed_request_key};
use super::request_object::{UsedObject, ValidRequestObject};
use super::store_quota::{ClientStoreQuota, StoreQuota};
use passerelle_federation::ServiceProvider;
use passerelle_protocol::authorize::parameter_source::ParameterSource;
use passerelle_protocol::authorize::{AuthorizationError, RequestMethod, validate_request};
use passerelle_protocol::catalogue::{ErrorCode, Param};
use passerelle_protocol::client_network::ClientNetwork;
use passerelle_protocol::discovery::path;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::{ClientId, InteractionHash};
use passerelle_protocol::params::Params;
use passerelle_protocol::pushed_request::{PushedRequest, PushedResponse};
use passerelle_protocol::sender_constraint::DpopHeader;
use passerelle_store::{NewRecord, RecordKey, StoreError, TakeOutcome, Usage};

/// How long a pushed request waits for the browser (RFC 9126 §2.2 suggests 5 to 600 seconds).
const PUSHED_REQUEST_LIFETIME: Duration = Duration::from_secs(60);
/// How long a used request leads its browser to the login.
const USED_REQUEST_RETENTION: Duration = Duration::from_secs(300);
/// Maximum size of a stored request.
const MAX_PUSHED_REQUEST_BYTES: usize = 16 * 1024;

/// Networks that fill the share of one public client, if each pushes as much as it may.
const NETWORKS_PER_CLIENT: usize = 8;

/// Bounds the pushed requests that the store holds for each client, and for each network that
/// pushes in the name of public clients.
#[derive(Debug)]
pub struct PushedRequestQuota {
    per_client: ClientStoreQuota,
    per_network: StoreQuota<ClientNetwork>,
}

/// Whose share of the store a pushed request takes.
struct PushedRequestOwner<'a> {
    client_id: &'a ClientId,
    /// The network of a sender that proves nothing.
    stranger: Option<ClientNetwork>,
}

impl PushedRequestOwner<'_> {
    /// Returns the network, unless it is a proxy's: all users share that.
    fn counted_network(&self) -> Option<ClientNetwork> {
        self.stranger.filter(|network| !network.is_private())
    }
}

impl PushedRequestQuota {
    /// Creates a quota that gives each client half of the store's capacity, and all registered
    /// clients together the same.
    #[must_use]
    pub fn with_store_capacity(capacity: Usage) -> Self {
        let share = |divisor: usize| Usage {
            records: capacity.records.div_ceil(divisor),
            bytes: capacity.bytes.div_ceil(divisor),
        };
        Self {
            per_client: ClientStoreQuota::new(share(2)),
            per_network: StoreQuota::new(share(2 * NETWORKS_PER_CLIENT)),
        }
    }

    fn has_capacity(&self, owner: &PushedRequestOwner<'_>, bytes: usize, now: Timestamp) -> bool {
        let network = owner.counted_network();
        self.per_client.has_capacity(owner.client_id, bytes, now)
            && network.is_none_or(|network| self.per_network.has_capacity(&network, bytes, now))
    }

    fn reserve(
        &self,
        owner: &PushedRequestOwner<'_>,
        bytes: usize,
        until: Timestamp,
        now: Timestamp,
    ) {
        self.per_client.reserve(owner.client_id, bytes, until, now);
        if let Some(network) = owner.counted_network() {
            self.per_network.reserve(&network, bytes, until, now);
        }
    }
}

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
    Object(ClientId, UsedObject),
}

/// Why the parameters of a request can't be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ParameterSourceError {
    Rejected(ErrorCode),
    /// The request started this login before.
    Used(InteractionHash, ErrorCode),
}

impl From<ErrorCode> for ParameterSourceError {
    fn from(code: ErrorCode) -> Self {
        Self::Rejected(code)
    }
}

impl From<StoreError> for ParameterSourceError {
    fn from(error: StoreError) -> Self {
        Self::Rejected(error.into())
    }
}

impl TokenService {
    /// Finds the parameters of a request at the authorization endpoint. A request that has them
    /// itself costs no store call.
    ///
    /// # Errors
    /// `Used`, or the code of the first check that fails.
    pub async fn resolve_request<'p>(
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
                self.load_pushed_request(client_id, reference).await
            }
            ParameterSource::Object(object, algs) => {
                let valid = self.validate_request_object(&client, (object, algs), params).await?;
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
    pub async fn mark_request_used(
        &self,
        SingleUse(record): &SingleUse,
        login: &InteractionHash,
    ) -> Result<(), ParameterSourceError> {
        let now = self.core.env.now();
        let value = login.as_str().as_bytes().to_vec();
        match record {
            SingleUseRecord::Pushed(key) => {
                let until = now + USED_REQUEST_RETENTION;
                match self.store.take(key, value, until, now).await? {
                    TakeOutcome::Taken(_) => Ok(()),
                    TakeOutcome::AlreadyTaken(login) => {
                        Err(used_error(&login, ErrorCode::RequestUriUsed))
                    }
                    TakeOutcome::Gone => Err(ErrorCode::RequestUriUnknown.into()),
                }
            }
            SingleUseRecord::Object(client_id, UsedObject { key, until }) => {
                match self.store.insert(key.clone(), NewRecord::new(value, *until), now).await {
                    Ok(_) => {
                        self.single_use_quota.reserve(client_id, *until, now);
                        Ok(())
                    }
                    Err(StoreError::Exists) => Err(self.used_object_error(key).await?),
                    Err(error) => Err(error.into()),
                }
            }
        }
    }

    /// Validates and stores a pushed request (RFC 9126 §2). `stranger` is the network of a sender
    /// that proves nothing: that of a public client.
    ///
    /// # Errors
    /// As [`Self::authenticate`]; the first failed check of the parameters, as at the authorization
    /// endpoint; `TooManyPushedRequests`, `PushedRequestTooLarge`, `StoreFull`, `StoreUnavailable`.
    pub async fn push_request(
        &self,
        request: &PushedRequest,
        stranger: Option<ClientNetwork>,
    ) -> Result<PushedResponse, GrantError> {
        let client = self.authenticate(&request.credentials).await?;
        let client_id = &client.registration.client_id;
        let stored = async {
            let (params, used) = self.pushed_params(&client, request).await?;
            // Before the proof, whose signature costs more: anyone can push for a public client.
            self.check_pushed_params(&params)?;
            let (params, proof) = self.bind_to_dpop_key(&client, params, request.dpop.as_ref())?;
            let record = self.new_pushed_request(&params)?;
            // Checked before the store, whose capacity is shared by all clients.
            let owner = PushedRequestOwner { client_id, stranger };
            let (bytes, now) = (record.value.len(), self.core.env.now());
            if !self.pushed_request_quota.has_capacity(&owner, bytes, now) {
                return Err(ErrorCode::TooManyPushedRequests);
            }
            if let Some(proof) = proof {
                self.use_dpop_proof(client_id, &proof).await?;
            }
            let reference = self.store_pushed_request(&owner, record).await?;
            // Last: a client repeats a request with the same object if the hub asks for a nonce, or
            // is busy.
            if let Some(used) = used
                && let Err(code) = self.use_request_object(client_id, used).await
            {
                self.remove_pushed_request(client_id, &reference).await;
                return Err(code);
            }
            Ok(reference)
        };
        let reference = stored.await.map_err(|code| GrantError::for_client(client_id, code))?;
        Ok(PushedResponse::new(&reference, PUSHED_REQUEST_LIFETIME.as_secs()))
    }

    async fn pushed_params(
        &self,
        client: &ServiceProvider,
        request: &PushedRequest,
    ) -> Result<(Params, Option<UsedObject>), ErrorCode> {
        let registration = &client.registration;
        let params = request.authorization_params(&registration.client_id);
        match ParameterSource::find_in_push(&params, registration.protection)? {
            ParameterSource::Request | ParameterSource::Pushed(_) => Ok((params, None)),
            ParameterSource::Object(object, algs) => {
                let ValidRequestObject { params, used } =
                    self.validate_request_object(client, (object, algs), &params).await?;
                Ok((params, used))
            }
        }
    }

    async fn use_request_object(
        &self,
        client_id: &ClientId,
        UsedObject { key, until }: UsedObject,
    ) -> Result<(), ErrorCode> {
        let (record, now) = (NewRecord::new(Vec::new(), until), self.core.env.now());
        match self.store.insert(key, record, now).await {
            Ok(_) => {
                self.single_use_quota.reserve(client_id, until, now);
                Ok(())
            }
            Err(StoreError::Exists) => Err(ErrorCode::RequestObjectReplayed),
            Err(error) => Err(error.into()),
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
        let proof = self.verify_dpop_proof(client, header, target)?;
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
        let federation = self.core.federation.load();
        let (platform, issuer) = (self.core.platform, &self.core.issuer);
        // The browser brings the request by GET.
        let request =
            validate_request(params, RequestMethod::Get, platform, issuer, federation.as_ref());
        let request = request.map_err(|error| match error {
            AuthorizationError::Page(code) | AuthorizationError::Redirect(_, code) => code,
        })?;
        self.requested_subjects(&request)?;
        self.check_request_keys(&request)
    }

    fn new_pushed_request(&self, params: &Params) -> Result<NewRecord, ErrorCode> {
        let record = new_record(&params.pairs(), self.core.env.now() + PUSHED_REQUEST_LIFETIME)?;
        if record.value.len() > MAX_PUSHED_REQUEST_BYTES {
            return Err(ErrorCode::PushedRequestTooLarge);
        }
        Ok(record)
    }

    async fn store_pushed_request(
        &self,
        owner: &PushedRequestOwner<'_>,
        record: NewRecord,
    ) -> Result<String, ErrorCode> {
        let (now, expires_at, bytes) = (self.core.env.now(), record.expires_at, record.value.len());
        let reference = self.core.env.entropy().token();
        self.store.insert(pushed_request_key(owner.client_id, &reference), record, now).await?;
        self.pushed_request_quota.reserve(owner, bytes, expires_at, now);
        Ok(reference)
    }

    /// Removes a request whose reference was never sent.
    async fn remove_pushed_request(&self, client_id: &ClientId, reference: &str) {
        if let Err(error) = self.store.remove(&pushed_request_key(client_id, reference)).await {
            tracing::warn!(%client_id, %error, "rejected pushed request not removed; it expires");
        }
    }

    async fn load_pushed_request(
        &self,
        client_id: &ClientId,
        reference: &str,
    ) -> Result<ResolvedRequest<'static>, ParameterSourceError> {
        let key = pushed_request_key(client_id, reference);
        if let Some((pairs, _)) = self.load_record(&key).await? {
            let single_use = Some(SingleUse(SingleUseRecord::Pushed(key)));
            return Ok(ResolvedRequest { params: Cow::Owned(Params::new(pairs)), single_use });
        }
        // A tombstone names the login.
        let now = self.core.env.now();
        match self.store.take(&key, Vec::new(), now, now).await? {
            TakeOutcome::AlreadyTaken(login) => Err(used_error(&login, ErrorCode::RequestUriUsed)),
            TakeOutcome::Taken(_) | TakeOutcome::Gone => Err(ErrorCode::RequestUriUnknown.into()),
        }
    }

    /// Returns the parameters of a request object in the address, unless it was used before. There
    /// it must have a `jti`: anyone who sees the address could start a login with it again.
    async fn unused_request(
        &self,
        client_id: &ClientId,
        ValidRequestObject { params, used }: ValidRequestObject,
    ) -> Result<ResolvedRequest<'static>, ParameterSourceError> {
        let used = used.ok_or(ErrorCode::RequestObjectJti)?;
        if self.store.load(&used.key, self.core.env.now()).await?.is_some() {
            return Err(self.used_object_error(&used.key).await?);
        }
        let single_use = Some(SingleUse(SingleUseRecord::Object(client_id.clone(), used)));
        Ok(ResolvedRequest { params: Cow::Owned(params), single_use })
    }

    async fn used_object_error(&self, key: &RecordKey) -> Result<ParameterSourceError, ErrorCode> {
        let record = self.store.load(key, self.core.env.now()).await?;
        let login = record.map(|record| record.value);
        Ok(used_error(login.as_deref().unwrap_or_default(), ErrorCode::RequestObjectReplayed))
    }
}

/// Returns the error for a request that was used by the login with this hash.
fn used_error(login: &[u8], code: ErrorCode) -> ParameterSourceError {
    match std::str::from_utf8(login) {
        Ok(login) if InteractionHash::is_well_formed(login) => {
            ParameterSourceError::Used(InteractionHash::from(login), code)
        }
        _ => ParameterSourceError::Rejected(code),
    }
}
