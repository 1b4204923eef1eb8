// A wallet made of libraries: @openid4vc/openid4vp speaks the protocol, dcql chooses the claims, @sd-jwt/sd-jwt-vc, @owf/mdoc and
// @auth0/mdl present. It trusts one authority of access certificates, as a wallet does.
import assert from 'node:assert/strict';
import { X509Certificate, verify } from 'node:crypto';
import * as mdl from '@auth0/mdl';
import { setGlobalConfig } from '@openid4vc/oauth2';
import { Openid4vpClient } from '@openid4vc/openid4vp';
import { CoseKey, DeviceRequest, DeviceResponse, DocRequest, ItemsRequest, SessionTranscript } from '@owf/mdoc';
import { SDJwtVcInstance } from '@sd-jwt/sd-jwt-vc';
import { DcqlQuery } from 'dcql';
import * as jose from 'jose';
import jsQR from 'jsqr';
import { decodeHtml, parseForms, random, readText } from './harness.mjs';
import { DOC_TYPE, SD_JWT_CLAIMS, VCT, es256, hasher, mdocContext, mdocElements, newKey, privateJwk } from './wallet-issuer.mjs';

// The hub under test is at http://localhost.
setGlobalConfig({ allowInsecureUrls: true });

const certificate = (base64) => new X509Certificate(Buffer.from(base64, 'base64'));

export class Wallet {
  /** accessAuthority: PEM of the authority whose relying parties it answers. */
  constructor(accessAuthority, { enc = 'A128GCM' } = {}) {
    this.key = newKey();
    this.enc = enc;
    this.accessAuthority = new X509Certificate(accessAuthority);
    this.callbacks = {
      fetch,
      hash: (data, alg) => hasher(data, alg),
      getX509CertificateMetadata: (leaf) => ({
        sanDnsNames: [...(certificate(leaf).subjectAltName ?? '').matchAll(/DNS:([^, ]+)/g)].map(([, name]) => name), sanUriNames: [],
      }),
      verifyJwt: (signer, { compact }) => this.#verifySigner(signer, compact),
      encryptJwe: async ({ publicJwk: jwk, alg, enc, apu, apv }, data) => {
        const part = (value) => value && new Uint8Array(Buffer.from(value, 'base64url'));
        const jwe = await new jose.CompactEncrypt(new TextEncoder().encode(data))
          .setProtectedHeader({ alg, enc, kid: jwk.kid })
          .setKeyManagementParameters({ ...(apu && { apu: part(apu) }), ...(apv && { apv: part(apv) }) })
          .encrypt(await jose.importJWK(jwk, alg));
        return { encryptionJwk: jwk, jwe };
      },
    };
    this.client = new Openid4vpClient({ callbacks: this.callbacks });
  }

  /** The request object is signed by a relying party of the authority; the library compares its hash with client_id. */
  #verifySigner(signer, compact) {
    if (signer.method !== 'x5c') return { verified: false };
    const chain = signer.x5c.map(certificate);
    const last = chain.at(-1);
    const isTrusted = chain.every((one, at) => !chain[at + 1] || one.verify(chain[at + 1].publicKey))
      && last.verify(this.accessAuthority.publicKey) && last.fingerprint256 !== this.accessAuthority.fingerprint256;
    const [header, payload, signature] = compact.split('.');
    const key = { key: chain[0].publicKey, dsaEncoding: 'ieee-p1363' };
    const isSigned = verify('sha256', Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, 'base64url'));
    return { verified: isTrusted && isSigned, signerJwk: { ...chain[0].publicKey.export({ format: 'jwk' }), alg: signer.alg } };
  }

  /** Reads the link of a page as the library does, and verifies the request. method: get, or post with a wallet_nonce. */
  async open(link, method = 'get') {
    const params = Object.fromEntries(new URL(link).searchParams);
    let payload = { client_id: params.client_id, request_uri: params.request_uri, request_uri_method: 'get' };
    const walletNonce = random(16);
    if (method === 'post') {
      // The library doesn't send wallet_nonce (0.4.6), so the wallet posts it, and gives the library the request object by value.
      const response = await fetch(params.request_uri, {
        method: 'POST', headers: { accept: 'application/oauth-authz-req+jwt' },
        body: new URLSearchParams({ wallet_nonce: walletNonce, wallet_metadata: JSON.stringify({ vp_formats_supported: { 'dc+sd-jwt': {} } }) }),
      });
      if (!response.ok) throw new Error(`request_uri: ${response.status} ${await response.text()}`);
      payload = { client_id: params.client_id, request: await response.text() };
    }
    const resolved = await this.client.resolveOpenId4vpAuthorizationRequest({ authorizationRequestPayload: payload, wallet: { expectedNonce: method === 'post' ? walletNonce : undefined } });
    const request = resolved.authorizationRequestPayload;
    if (method === 'post' && request.wallet_nonce !== walletNonce) throw new Error('the request has another wallet_nonce');
    return { ...resolved, request };
  }

  /** Reads the request that a page of `origin` gave to the Digital Credentials API, and verifies it. */
  async openForApi(compact, origin) {
    const { client_id: clientId } = jose.decodeJwt(compact);
    const resolved = await this.client.resolveOpenId4vpAuthorizationRequest({ authorizationRequestPayload: { client_id: clientId, request: compact }, origin });
    return { ...resolved, request: resolved.authorizationRequestPayload };
  }

  /** What a DCQL query asks of a PID in this format: { id, disclosed } for each of its credentials that the PID can be. */
  matches(query, format, authorityKeyIdentifier) {
    const common = { cryptographic_holder_binding: true, authority: { type: 'aki', values: [authorityKeyIdentifier] } };
    const known = {
      'dc+sd-jwt': { credential_format: 'dc+sd-jwt', vct: VCT, claims: SD_JWT_CLAIMS, ...common },
      mso_mdoc: { credential_format: 'mso_mdoc', doctype: DOC_TYPE, namespaces: { [DOC_TYPE]: mdocElements((text) => text) }, ...common },
    };
    const parsed = DcqlQuery.parse(query);
    DcqlQuery.validate(parsed);
    const result = DcqlQuery.query(parsed, [known[format]]);
    return Object.entries(result.credential_matches).filter(([, match]) => match.success).map(([id, match]) => ({
      id, disclosed: match.valid_credentials[0].claims.valid_claim_sets[0].output,
    }));
  }

  /** An SD-JWT VC with the disclosures that the query asks for, and a key binding. origin: of the page that called the API. */
  async presentSdJwt(credential, { disclosed }, request, origin) {
    const library = new SDJwtVcInstance({ hasher, hashAlg: 'sha-256', kbSignAlg: 'ES256', kbSigner: (message) => Buffer.from(es256(this.key, message)).toString('base64url') });
    const frame = (value) => (value && typeof value === 'object'
      ? Object.fromEntries(Object.entries(value).filter(([, one]) => one !== null).map(([name, one]) => [name, frame(one)])) : true);
    const { vct, ...claims } = disclosed;
    return library.present(credential, frame(claims), { kb: { payload: { iat: Math.floor(Date.now() / 1000), aud: origin ? `origin:${origin}` : request.client_id, nonce: request.nonce } } });
  }

  async #transcript(request, origin) {
    const jwk = request.client_metadata.jwks.keys[0];
    const jwkThumbprint = new Uint8Array(Buffer.from(await jose.calculateJwkThumbprint(jwk), 'base64url'));
    if (origin) return SessionTranscript.forOid4VpDcApi({ origin, nonce: request.nonce, jwkThumbprint }, mdocContext);
    return SessionTranscript.forOid4Vp({ clientId: request.client_id, nonce: request.nonce, responseUri: request.response_uri, jwkThumbprint }, mdocContext);
  }

  /** A DeviceResponse by @owf/mdoc. */
  async presentMdoc(issuerSigned, { disclosed }, request, origin) {
    const namespaces = Object.fromEntries(Object.entries(disclosed.namespaces ?? disclosed).map(([name, elements]) => [name, Object.fromEntries(Object.keys(elements).map((one) => [one, false]))]));
    const itemsRequest = ItemsRequest.create({ docType: DOC_TYPE, namespaces });
    const response = await DeviceResponse.createWithDeviceRequest({
      deviceRequest: DeviceRequest.create({ docRequests: [DocRequest.create({ itemsRequest })] }),
      sessionTranscript: await this.#transcript(request, origin), issuerSigned: [issuerSigned],
      signature: { signingKey: CoseKey.fromJwk({ ...privateJwk(this.key), alg: 'ES256' }) },
    }, mdocContext);
    return response.encodedForOid4Vp;
  }

  /** A DeviceResponse by @auth0/mdl. */
  async presentOtherMdoc(issuerSigned, { disclosed }, request, origin) {
    const fields = Object.entries(disclosed.namespaces ?? disclosed).flatMap(([name, elements]) => Object.keys(elements).map((one) => ({ path: [`$['${name}']['${one}']`], intent_to_retain: false })));
    const transcript = (await this.#transcript(request, origin)).encode({ asDataItem: true });
    const response = await mdl.DeviceResponse.from(new mdl.MDoc([issuerSigned]))
      .usingPresentationDefinition({ id: 'pid', input_descriptors: [{ id: DOC_TYPE, format: { mso_mdoc: { alg: ['ES256'] } }, constraints: { limit_disclosure: 'required', fields } }] })
      .usingSessionTranscriptBytes(Buffer.from(transcript))
      .authenticateWithSignature({ ...privateJwk(this.key), alg: 'ES256', kid: 'holder' }, 'ES256')
      .sign();
    return Buffer.from(response.encode()).toString('base64url');
  }

  /** Encrypts a response, as the API returns it and as `respond` posts it. */
  async encrypt(request, id, presentation, origin) {
    const { jarm } = await this.client.createOpenid4vpAuthorizationResponse({
      authorizationRequestPayload: request,
      authorizationResponsePayload: { vp_token: { [id]: [presentation] } },
      origin,
      jarm: {
        encryption: { nonce: random(16) },
        serverMetadata: { authorization_signing_alg_values_supported: [], authorization_encryption_alg_values_supported: ['ECDH-ES'], authorization_encryption_enc_values_supported: [this.enc] },
      },
    });
    return jarm;
  }

  /** Encrypts and posts the response. Returns { status, body } of the hub. */
  async respond(request, id, presentation) {
    const jarm = await this.encrypt(request, id, presentation);
    const { response } = await this.client.submitOpenid4vpAuthorizationResponse({ authorizationRequestPayload: request, authorizationResponsePayload: {}, jarm });
    return { status: response.status, body: await response.json(), jwe: jose.decodeProtectedHeader(jarm.responseJwt) };
  }
}

/** The link of a wallet page. */
export const findWalletLink = (page) => {
  const link = page.html.match(/href="(openid4vp:[^"]+)"/)?.[1];
  if (!link) throw new Error(`no link on ${page.url} (${page.status}):\n${readText(page.html)}`);
  return decodeHtml(link);
};

export const findCodeForm = (page) => parseForms(page.html, page.url).find((form) => /\/other-device$/.test(form.action));

/** The link in the QR code of a page, read from its modules as a camera does. */
export function scanQrCode(html) {
  const [, size, path] = html.match(/<svg class="qr"[\s\S]*?viewBox="-4 -4 (\d+)[\s\S]*<path fill="#000" d="([^"]+)"/);
  const scale = 4, width = Number(size) * scale;
  const pixels = new Uint8ClampedArray(width * width * 4).fill(255);
  for (const [, x, y, length] of path.matchAll(/M(\d+)[ ,](\d+)h(\d+)v1h-\d+z/g)) {
    for (let row = (Number(y) + 4) * scale; row < (Number(y) + 5) * scale; row += 1) {
      for (let column = (Number(x) + 4) * scale; column < (Number(x) + 4 + Number(length)) * scale; column += 1) pixels.fill(0, (row * width + column) * 4, (row * width + column) * 4 + 3);
    }
  }
  const code = jsQR(pixels, width, width);
  assert.ok(code, `no QR code can be read: ${path.slice(0, 200)}`);
  return code.data;
}
