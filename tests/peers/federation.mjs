// A small federation for one test file: the hub, a real identity provider, and two service providers.
import * as oidc from 'openid-client';
import { IDP_CLIENT, IDP_SECRET, freePorts, oidcConnector, random, startHub } from './harness.mjs';
import { startIdp } from './real-idp.mjs';

export const SCOPE = 'openid given_name family_name birthdate gender birthplace birthcountry email preferred_username';

/**
 * { hub, idp, sp, other, …, stop }: `sp` and `other` are { id, secret, redirectUri }. `more` are further service
 * providers by name, { secret, extra }, `extra` being lines of the file; they are in the answer by the same name.
 */
export async function startFederation(name, more = {}) {
  const [port, privatePort, idpPort] = await freePorts(3);
  const provider = (id) => ({ id, secret: random(32), redirectUri: `http://localhost:${port}/sp/${id}/callback` });
  const [sp, other] = [provider('alpha'), provider('beta')];
  const others = Object.fromEntries(Object.entries(more).map(([id, own]) => [id, { ...provider(id), ...own }]));
  const idp = await startIdp({
    port: idpPort, clientId: IDP_CLIENT, clientSecret: IDP_SECRET, userinfoAlg: 'ES256',
    redirectUris: [`http://localhost:${port}/api/v2/callback/real`],
  });
  const scopes = [...SCOPE.split(' '), 'profile', 'birth', 'identite_pivot'];
  try {
    const hub = await startHub(name, {
      port, privatePort,
      sps: [sp, other, ...Object.values(others)].map((s) => ({ ...s, redirectUris: [s.redirectUri], scopes })),
      connectors: { real: oidcConnector(idp.issuer, 'userinfo_signed_response_alg = "ES256"') },
    });
    return { hub, idp, sp, other, ...others, stop: async () => { await hub.stop(); await idp.close(); } };
  } catch (error) {
    await idp.close();
    throw error;
  }
}

/** The service provider's own library, after discovery. */
export const discover = (hub, sp, authentication = oidc.ClientSecretPost(sp.secret)) => oidc.discovery(
  new URL(`${hub.issuer}/.well-known/openid-configuration`), sp.id, { id_token_signed_response_alg: 'ES256', userinfo_signed_response_alg: 'ES256' },
  authentication, { execute: [oidc.allowInsecureRequests, oidc.enableNonRepudiationChecks] },
);

/** An authorization request by openid-client: { url, state, nonce, verifier }. */
export async function request(client, sp, more = {}) {
  const [state, nonce, verifier] = [random(32), random(32), oidc.randomPKCECodeVerifier()];
  const url = oidc.buildAuthorizationUrl(client, {
    redirect_uri: sp.redirectUri, scope: SCOPE, acr_values: 'eidas1', state, nonce,
    code_challenge: await oidc.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256', ...more,
  });
  return { url: url.href, state, nonce, verifier };
}

/** POST of a form to the token endpoint; `fields` over a correct request. */
export async function redeem(hub, sp, fields) {
  const form = { grant_type: 'authorization_code', client_id: sp.id, client_secret: sp.secret, redirect_uri: sp.redirectUri, ...fields };
  const present = Object.entries(form).filter(([, value]) => value !== undefined);
  const response = await fetch(`${hub.issuer}/token`, { method: 'POST', body: new URLSearchParams(present) });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

export const userinfo = (hub, token) => fetch(`${hub.issuer}/userinfo`, { headers: { authorization: `Bearer ${token}` } });
