package app;

import com.nimbusds.jose.JOSEObjectType;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.crypto.ECDSASigner;
import com.nimbusds.jose.jwk.Curve;
import com.nimbusds.jose.jwk.ECKey;
import com.nimbusds.jose.jwk.gen.ECKeyGenerator;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.SignedJWT;
import com.nimbusds.oauth2.sdk.*;
import com.nimbusds.oauth2.sdk.auth.JWTAuthenticationClaimsSet;
import com.nimbusds.oauth2.sdk.auth.PrivateKeyJWT;
import com.nimbusds.oauth2.sdk.dpop.DPoPProofFactory;
import com.nimbusds.oauth2.sdk.dpop.DefaultDPoPProofFactory;
import com.nimbusds.oauth2.sdk.http.HTTPRequest;
import com.nimbusds.oauth2.sdk.http.HTTPResponse;
import com.nimbusds.oauth2.sdk.id.*;
import com.nimbusds.oauth2.sdk.jarm.JARMValidator;
import com.nimbusds.oauth2.sdk.pkce.CodeChallengeMethod;
import com.nimbusds.oauth2.sdk.pkce.CodeVerifier;
import com.nimbusds.oauth2.sdk.token.DPoPAccessToken;
import com.nimbusds.openid.connect.sdk.*;
import com.nimbusds.openid.connect.sdk.claims.ACR;
import com.nimbusds.openid.connect.sdk.op.OIDCProviderMetadata;
import com.nimbusds.openid.connect.sdk.validators.IDTokenValidator;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Date;
import java.util.List;

/** Signs one person in with FAPI 2.0: prints the address for the browser, reads the one it came back to, prints what it learned. */
public class Application {
  private final OIDCProviderMetadata hub;
  private final ClientID client;
  private final ECKey key;
  private final DPoPProofFactory proofs;

  private Application(String issuer, String client, String keyFile) throws Exception {
    this.hub = OIDCProviderMetadata.resolve(new Issuer(issuer));
    this.client = new ClientID(client);
    this.key = ECKey.parse(Files.readString(Path.of(keyFile)));
    this.proofs = new DefaultDPoPProofFactory(new ECKeyGenerator(Curve.P_256).generate(), JWSAlgorithm.ES256);
  }

  private PrivateKeyJWT authentication() throws Exception {
    var claims = new JWTAuthenticationClaimsSet(client, new Audience(hub.getIssuer()));
    return new PrivateKeyJWT(claims, JWSAlgorithm.ES256, key.toECPrivateKey(), key.getKeyID(), null);
  }

  private HTTPResponse send(HTTPRequest request, com.nimbusds.oauth2.sdk.token.AccessToken token) throws Exception {
    var method = request.getMethod().name();
    request.setDPoP(token == null ? proofs.createDPoPJWT(method, request.getURI()) : proofs.createDPoPJWT(method, request.getURI(), token));
    return request.send();
  }

  private AuthorizationRequest signed(AuthenticationRequest request) throws Exception {
    var now = Instant.now();
    var claims = new JWTClaimsSet.Builder(request.toJWTClaimsSet())
        .issuer(client.getValue()).audience(hub.getIssuer().getValue())
        .notBeforeTime(Date.from(now)).expirationTime(Date.from(now.plusSeconds(300))).build();
    var header = new JWSHeader.Builder(JWSAlgorithm.ES256).type(new JOSEObjectType("oauth-authz-req+jwt")).keyID(key.getKeyID()).build();
    var jwt = new SignedJWT(header, claims);
    jwt.sign(new ECDSASigner(key));
    return new AuthorizationRequest.Builder(jwt, client).build();
  }

  public static void main(String[] arguments) throws Exception {
    var own = new Application(arguments[0], arguments[1], arguments[3]);
    own.signIn(URI.create(arguments[2]), arguments[4].equals("signed"));
  }

  private void signIn(URI redirect, boolean isSigned) throws Exception {
    var verifier = new CodeVerifier();
    var state = new State(32);
    var nonce = new Nonce(32);
    var request = new AuthenticationRequest.Builder(new ResponseType("code"), new Scope("openid", "family_name"), client, redirect)
        .state(state).nonce(nonce).acrValues(List.of(new ACR("eidas1")))
        .codeChallenge(verifier, CodeChallengeMethod.S256)
        .responseMode(isSigned ? ResponseMode.JWT : null).build();
    var pushed = PushedAuthorizationResponse.parse(send(
        new PushedAuthorizationRequest(hub.getPushedAuthorizationRequestEndpointURI(), authentication(), isSigned ? signed(request) : request).toHTTPRequest(), null));
    if (!pushed.indicatesSuccess()) throw new IllegalStateException(pushed.toErrorResponse().getErrorObject().toJSONObject().toString());
    System.out.println(new AuthorizationRequest.Builder(pushed.toSuccessResponse().getRequestURI(), client)
        .endpointURI(hub.getAuthorizationEndpointURI()).build().toURI());

    var back = URI.create(new BufferedReader(new InputStreamReader(System.in)).readLine());
    var keys = hub.getJWKSetURI().toURL();
    var answer = isSigned
        ? AuthorizationResponse.parse(back, new JARMValidator(hub.getIssuer(), client, JWSAlgorithm.ES256, keys))
        : AuthorizationResponse.parse(back);
    if (!answer.indicatesSuccess() || !state.equals(answer.getState()) || !hub.getIssuer().equals(answer.getIssuer()))
      throw new IllegalStateException("not the answer to this request: " + back);
    var grant = new AuthorizationCodeGrant(answer.toSuccessResponse().getAuthorizationCode(), redirect, verifier);
    var tokens = OIDCTokenResponseParser.parse(send(new TokenRequest(hub.getTokenEndpointURI(), authentication(), grant).toHTTPRequest(), null));
    if (!tokens.indicatesSuccess()) throw new IllegalStateException(tokens.toErrorResponse().getErrorObject().toJSONObject().toString());
    var received = ((OIDCTokenResponse) tokens.toSuccessResponse()).getOIDCTokens();
    DPoPAccessToken token = received.getDPoPAccessToken();
    var id = new IDTokenValidator(hub.getIssuer(), client, JWSAlgorithm.ES256, keys).validate(received.getIDToken(), nonce);
    var person = UserInfoResponse.parse(send(new UserInfoRequest(hub.getUserInfoEndpointURI(), token).toHTTPRequest(), token));
    if (!person.indicatesSuccess()) throw new IllegalStateException(person.toErrorResponse().getErrorObject().toJSONObject().toString());
    var claims = person.toSuccessResponse().getUserInfoJWT().getJWTClaimsSet();
    System.out.println("{\"token_type\":\"" + token.getType() + "\",\"same\":" + id.getSubject().getValue().equals(claims.getSubject())
        + ",\"family_name\":\"" + claims.getStringClaim("family_name") + "\"}");
  }
}
