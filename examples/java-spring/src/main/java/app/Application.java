package app;

import java.util.Base64;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.core.annotation.AuthenticationPrincipal;
import org.springframework.security.crypto.keygen.Base64StringKeyGenerator;
import org.springframework.security.oauth2.client.oidc.authentication.OidcIdTokenDecoderFactory;
import org.springframework.security.oauth2.client.oidc.userinfo.OidcUserService;
import org.springframework.security.oauth2.client.registration.ClientRegistration;
import org.springframework.security.oauth2.client.registration.ClientRegistrationRepository;
import org.springframework.security.oauth2.client.web.DefaultOAuth2AuthorizationRequestResolver;
import org.springframework.security.oauth2.client.web.OAuth2AuthorizationRequestCustomizers;
import org.springframework.security.oauth2.core.oidc.user.OidcUser;
import org.springframework.security.oauth2.core.user.DefaultOAuth2User;
import org.springframework.security.oauth2.jose.jws.SignatureAlgorithm;
import org.springframework.security.oauth2.jwt.JwtDecoderFactory;
import org.springframework.security.oauth2.jwt.NimbusJwtDecoder;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.security.web.authentication.logout.LogoutSuccessHandler;
import org.springframework.security.web.csrf.CsrfToken;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.client.RestClient;
import org.springframework.web.servlet.support.ServletUriComponentsBuilder;
import org.springframework.web.util.HtmlUtils;
import org.springframework.web.util.UriComponentsBuilder;

/** Signs a person in with Passerelle by Spring Security, and out again. */
@SpringBootApplication
@RestController
public class Application {
    public static void main(String[] args) {
        SpringApplication.run(Application.class, args);
    }

    @Bean
    SecurityFilterChain security(HttpSecurity http, ClientRegistrationRepository clients) throws Exception {
        var requests = new DefaultOAuth2AuthorizationRequestResolver(clients, "/oauth2/authorization");
        requests.setAuthorizationRequestCustomizer(OAuth2AuthorizationRequestCustomizers.withPkce()
            .andThen(request -> request.additionalParameters(more -> more.put("acr_values", "eidas1"))));
        return http
            .authorizeHttpRequests(pages -> pages.requestMatchers("/", "/signed-out").permitAll().anyRequest().authenticated())
            .oauth2Login(login -> login
                .authorizationEndpoint(endpoint -> endpoint.authorizationRequestResolver(requests))
                .redirectionEndpoint(endpoint -> endpoint.baseUri("/callback"))
                .defaultSuccessUrl("/", true))
            .logout(logout -> logout.logoutSuccessHandler(endSession(clients.findByRegistrationId("hub"))))
            .build();
    }

    /** ID tokens are signed with ES256; Spring Security expects RS256. */
    @Bean
    JwtDecoderFactory<ClientRegistration> idTokens() {
        var factory = new OidcIdTokenDecoderFactory();
        factory.setJwsAlgorithmResolver(client -> SignatureAlgorithm.ES256);
        return factory;
    }

    /** Userinfo is a signed JWT; Spring Security expects JSON. It compares the subject with the ID token's. */
    @Bean
    OidcUserService people() {
        var service = new OidcUserService();
        service.setOauth2UserService(request -> {
            var hub = request.getClientRegistration().getProviderDetails();
            var answer = RestClient.create().get().uri(hub.getUserInfoEndpoint().getUri())
                .headers(headers -> headers.setBearerAuth(request.getAccessToken().getTokenValue())).retrieve().body(String.class);
            var keys = NimbusJwtDecoder.withJwkSetUri(hub.getJwkSetUri()).jwsAlgorithm(SignatureAlgorithm.ES256).build();
            return new DefaultOAuth2User(null, keys.decode(answer).getClaims(), "sub");
        });
        return service;
    }

    /** The hub requires a state of 32 characters; Spring Security's own handler sends none. */
    private LogoutSuccessHandler endSession(ClientRegistration client) {
        var endpoint = (String) client.getProviderDetails().getConfigurationMetadata().get("end_session_endpoint");
        return (request, response, user) -> response.sendRedirect(UriComponentsBuilder.fromUriString(endpoint)
            .queryParam("id_token_hint", ((OidcUser) user.getPrincipal()).getIdToken().getTokenValue())
            .queryParam("post_logout_redirect_uri", ServletUriComponentsBuilder.fromContextPath(request).path("/signed-out").toUriString())
            .queryParam("state", new Base64StringKeyGenerator(Base64.getUrlEncoder().withoutPadding()).generateKey())
            .toUriString());
    }

    @GetMapping({"/", "/signed-out"})
    String home(@AuthenticationPrincipal OidcUser person, CsrfToken csrf) {
        if (person == null) return "<h1>My application</h1><p><a href='/oauth2/authorization/hub'>Sign in with Passerelle</a></p>";
        var names = HtmlUtils.htmlEscape(person.getGivenName() + " " + person.getFamilyName());
        return "<h1>" + names + "</h1><form method='post' action='/logout'><input type='hidden' name='_csrf' value='"
            + csrf.getToken() + "'><button>Sign out</button></form>";
    }
}
