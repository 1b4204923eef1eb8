package app;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.jwk.Curve;
import com.nimbusds.jose.jwk.gen.ECKeyGenerator;
import com.nimbusds.oauth2.sdk.dpop.DPoPProofFactory;
import com.nimbusds.oauth2.sdk.dpop.DefaultDPoPProofFactory;
import com.nimbusds.oauth2.sdk.token.AccessToken;
import com.nimbusds.oauth2.sdk.token.DPoPAccessToken;
import com.nimbusds.openid.connect.sdk.Nonce;
import java.io.IOException;
import java.net.URI;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpRequest;
import org.springframework.http.client.ClientHttpRequestExecution;
import org.springframework.http.client.ClientHttpRequestInterceptor;
import org.springframework.http.client.ClientHttpResponse;

/**
 * Adds a proof of one key to each request (RFC 9449), sends access tokens by the scheme DPoP, and repeats a request once with
 * the nonce that the server asks for. It must be the last interceptor.
 */
public class DPoPInterceptor implements ClientHttpRequestInterceptor {
  private final DPoPProofFactory proofs;
  private final Map<String, String> nonces = new ConcurrentHashMap<>(); // by host

  public DPoPInterceptor() throws JOSEException {
    proofs = new DefaultDPoPProofFactory(new ECKeyGenerator(Curve.P_256).generate(), JWSAlgorithm.ES256);
  }

  @Override
  public ClientHttpResponse intercept(HttpRequest request, byte[] body, ClientHttpRequestExecution execution) throws IOException {
    var headers = request.getHeaders();
    var authorization = headers.getFirst(HttpHeaders.AUTHORIZATION);
    AccessToken token = null;
    if (authorization != null && authorization.startsWith("Bearer ")) {
      token = new DPoPAccessToken(authorization.substring("Bearer ".length()));
      headers.set(HttpHeaders.AUTHORIZATION, token.toAuthorizationHeader());
    }
    var host = request.getURI().getAuthority();
    var sent = nonces.get(host);
    headers.set("DPoP", proof(request, token, sent));
    var response = execution.execute(request, body);
    var nonce = response.getHeaders().getFirst("DPoP-Nonce");
    if (nonce == null || nonce.equals(sent)) return response;
    nonces.put(host, nonce);
    if (response.getStatusCode().value() != 400 && response.getStatusCode().value() != 401) return response;
    response.close();
    headers.set("DPoP", proof(request, token, nonce));
    return execution.execute(request, body);
  }

  private String proof(HttpRequest request, AccessToken token, String nonce) throws IOException {
    var target = request.getURI();
    try {
      target = new URI(target.getScheme(), target.getAuthority(), target.getPath(), null, null);
      return proofs.createDPoPJWT(request.getMethod().name(), target, token, Nonce.parse(nonce)).serialize();
    } catch (Exception failure) {
      throw new IOException("no DPoP proof", failure);
    }
  }
}
