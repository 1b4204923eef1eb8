package app;

import static org.springframework.security.config.Customizer.withDefaults;

import java.net.URI;
import java.util.List;
import java.util.Map;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.core.annotation.Order;
import org.springframework.http.RequestEntity;
import org.springframework.http.converter.FormHttpMessageConverter;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.core.annotation.AuthenticationPrincipal;
import org.springframework.security.oauth2.client.OAuth2AuthorizedClient;
import org.springframework.security.oauth2.client.annotation.RegisteredOAuth2AuthorizedClient;
import org.springframework.security.oauth2.client.endpoint.*;
import org.springframework.security.oauth2.client.http.OAuth2ErrorResponseErrorHandler;
import org.springframework.security.oauth2.client.oidc.userinfo.OidcUserRequest;
import org.springframework.security.oauth2.client.oidc.userinfo.OidcUserService;
import org.springframework.security.oauth2.client.registration.ClientRegistrationRepository;
import org.springframework.security.oauth2.client.userinfo.DefaultOAuth2UserService;
import org.springframework.security.oauth2.client.userinfo.OAuth2UserService;
import org.springframework.security.oauth2.client.web.DefaultOAuth2AuthorizationRequestResolver;
import org.springframework.security.oauth2.client.web.OAuth2AuthorizationRequestResolver;
import org.springframework.security.oauth2.core.OAuth2AuthenticatedPrincipal;
import org.springframework.security.oauth2.core.http.converter.OAuth2AccessTokenResponseHttpMessageConverter;
import org.springframework.security.oauth2.core.oidc.user.OidcUser;
import org.springframework.security.oauth2.server.resource.introspection.OpaqueTokenIntrospector;
import org.springframework.security.oauth2.server.resource.introspection.SpringOpaqueTokenIntrospector;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.util.MultiValueMap;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.client.RestClient;
import org.springframework.web.client.RestTemplate;

/** A service provider and a data provider in one application; all tokens between them are bound to the service provider's key. */
@SpringBootApplication
@RestController
public class Application {
  private final DPoPInterceptor dpop;

  public Application() throws Exception {
    dpop = new DPoPInterceptor();
  }

  public static void main(String[] arguments) {
    SpringApplication.run(Application.class, arguments);
  }

  // The service provider: token endpoint and userinfo with proofs.

  private RestClient tokenEndpoint() {
    return RestClient.builder()
        .configureMessageConverters(converters -> converters
            .addCustomConverter(new FormHttpMessageConverter()).addCustomConverter(new OAuth2AccessTokenResponseHttpMessageConverter()))
        .defaultStatusHandler(new OAuth2ErrorResponseErrorHandler())
        .requestInterceptor(dpop).build();
  }

  @Bean
  OAuth2AccessTokenResponseClient<OAuth2AuthorizationCodeGrantRequest> codes() {
    var client = new RestClientAuthorizationCodeTokenResponseClient();
    client.setRestClient(tokenEndpoint());
    return client;
  }

  @Bean
  OAuth2AccessTokenResponseClient<OAuth2RefreshTokenGrantRequest> refreshTokens() {
    var client = new RestClientRefreshTokenTokenResponseClient();
    client.setRestClient(tokenEndpoint());
    return client;
  }

  @Bean
  OAuth2UserService<OidcUserRequest, OidcUser> users() {
    var template = new RestTemplate();
    template.setErrorHandler(new OAuth2ErrorResponseErrorHandler());
    template.setInterceptors(List.of(dpop));
    var userinfo = new DefaultOAuth2UserService();
    userinfo.setRestOperations(template);
    var users = new OidcUserService();
    users.setOauth2UserService(userinfo);
    return users;
  }

  @Bean
  OAuth2AuthorizationRequestResolver requests(ClientRegistrationRepository registrations) {
    var resolver = new DefaultOAuth2AuthorizationRequestResolver(registrations);
    resolver.setAuthorizationRequestCustomizer(request -> request.additionalParameters(all -> all.put("prompt", "consent")));
    return resolver;
  }

  @Bean
  @Order(2)
  SecurityFilterChain pages(HttpSecurity http) throws Exception {
    return http.authorizeHttpRequests(all -> all.anyRequest().authenticated()).oauth2Login(withDefaults()).build();
  }

  @GetMapping("/")
  Map<String, Object> person(@AuthenticationPrincipal OidcUser user) {
    return user.getClaims();
  }

  /** Calls the data provider. Spring Security gets a new access token by the refresh token first, as a minute is left of it. */
  @GetMapping("/call")
  Map<String, Object> call(@RegisteredOAuth2AuthorizedClient("hub") OAuth2AuthorizedClient client, @Value("${server.port}") int port) {
    var token = client.getAccessToken();
    var answer = RestClient.builder().requestInterceptor(dpop).build().get().uri("http://localhost:" + port + "/data/person?why=test")
        .headers(headers -> headers.setBearerAuth(token.getTokenValue())).retrieve().body(Map.class);
    return Map.of("answer", answer, "token_type", token.getTokenType().getValue(), "access_token", token.getTokenValue());
  }

  // The data provider: Spring Security verifies the proofs, by `cnf` of the introspection.

  @Bean
  OpaqueTokenIntrospector introspector(@Value("${data.introspection-uri}") URI uri, @Value("${data.client-id}") String id, @Value("${data.client-secret}") String secret) {
    var introspector = new SpringOpaqueTokenIntrospector(uri.toString(), new RestTemplate());
    introspector.setRequestEntityConverter(token -> RequestEntity.post(uri).body(MultiValueMap.fromSingleValue(
        Map.of("client_id", id, "client_secret", secret, "token", token))));
    return introspector;
  }

  @Bean
  @Order(1)
  SecurityFilterChain data(HttpSecurity http) throws Exception {
    return http.securityMatcher("/data/**").authorizeHttpRequests(all -> all.anyRequest().authenticated())
        .oauth2ResourceServer(server -> server.opaqueToken(withDefaults()).dPoP(withDefaults())).build();
  }

  @GetMapping("/data/person")
  Map<String, Object> data(@AuthenticationPrincipal OAuth2AuthenticatedPrincipal principal) {
    return Map.of("family_name", principal.getAttribute("family_name"), "client_id", principal.getAttribute("client_id"));
  }
}
